# The server: web, worker, beat and management commands from one image; docker-compose.yml says which is what.

FROM python:3.11-slim AS packages

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/multilingual.txt /tmp/packages.txt
# Only what the lock file names, only with its hash, and nothing that would have to be compiled.
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --require-hashes --only-binary :all: --requirement /tmp/packages.txt \
    && /opt/venv/bin/pip uninstall --yes pip


FROM python:3.11-slim

ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ORT_DISABLE_TELEMETRY=1 \
    LOG_FORMAT=json \
    WEB_BIND=0.0.0.0:5047 \
    FILES_STORAGE_DIR=/srv/files

# The folder of the files is made here, so that a new volume in its place belongs to the user as well.
RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent soat \
    && install --directory --owner soat --mode 700 /srv/files

COPY --from=packages /opt/venv /opt/venv
WORKDIR /srv/soat
COPY . .
# The key is of this one command; the image holds none.
RUN python -m compileall -q . && SECRET_KEY=only-while-the-image-is-built python manage.py collectstatic --no-input

USER soat
EXPOSE 5047
STOPSIGNAL SIGTERM
# Any answer will do that is no fault of the server: ALLOWED_HOSTS may leave this machine out.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --start-interval=2s \
    CMD ["python", "-c", "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1:5047', timeout=4); c.request('GET', '/health'); sys.exit(c.getresponse().status >= 500)"]
CMD ["gunicorn", "--config", "python:soat.gunicorn", "soat.wsgi:application"]
