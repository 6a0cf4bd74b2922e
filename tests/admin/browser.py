"""A headless Chromium, and what it says about the pages that it was shown."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = Path("/usr/bin/chromium")
CHROMEDRIVER = Path("/usr/bin/chromedriver")
SECONDS = 15
ResultT = TypeVar("ResultT")
# Without these, Chromium looks for its maker's servers, and this is about our pages only.
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1400,1100",
)


def require_chromium() -> None:
    """Skip where there is no Chromium; in CI that is an error."""
    missing = [str(program) for program in (CHROMIUM, CHROMEDRIVER) if not program.exists()]
    if not missing:
        return
    reason = f"{' and '.join(missing)} missing (Debian's packages chromium and chromium-driver)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Browser:
    """A browser on the pages of one server."""

    def __init__(self, driver: webdriver.Chrome, shots: Path) -> None:
        self.driver = driver
        self.base = ""
        self._shots = shots

    def open(self, path: str) -> None:
        """Go to a page of the server."""
        self.driver.get(self.base + path)

    def one(self, selector: str) -> WebElement:
        """Return the element, waiting for it."""
        return self.wait(lambda: self.driver.find_element(By.CSS_SELECTOR, selector))

    def text(self) -> str:
        """Return the text that can be seen."""
        return self.one("body").text

    def wait(self, look: Callable[[], ResultT]) -> ResultT:
        """Look until there is something."""
        return WebDriverWait(self.driver, SECONDS, 0.05, [Exception]).until(lambda _: look())

    def fill(self, selector: str, text: str) -> None:
        """Put a text in the place of what a field holds."""
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def click(self, selector: str) -> None:
        """Click and wait for the next page."""
        old = self.one("html")
        target = self.wait(lambda: self._first_shown(selector))
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
        target.click()
        self.wait(lambda: self.one("html") != old and self._is_loaded())

    def log_in(self, username: str, password: str) -> None:
        """Fill in the form."""
        self.open("/admin/")
        self.fill("#id_username", username)
        self.fill("#id_password", password)
        self.click("#login-form button[type=submit]")

    def shoot(self, name: str) -> None:
        """Keep a picture of the page, for people to look at."""
        self.driver.save_screenshot(str(self._shots / f"{name}.png"))

    def complaints(self) -> list[str]:
        """Return what the console says, and every request that left the server's address."""
        console, network = self._log("browser"), self._log("performance")
        said = [entry["message"] for entry in console if entry["level"] in {"SEVERE", "WARNING"}]
        for entry in network:
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if urlsplit(url).scheme in {"http", "https"} and not url.startswith(f"{self.base}/"):
                    said.append(f"request to {url}")
        return said

    def _log(self, kind: str) -> list[dict[str, str]]:
        entries: list[dict[str, str]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return entries

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements."""
        return [element.text for element in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def _first_shown(self, selector: str) -> WebElement:
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return next(element for element in found if element.is_displayed())

    def _is_loaded(self) -> bool:
        return bool(self.driver.execute_script("return document.readyState === 'complete'"))


@contextmanager
def running_browser(folder: Path) -> Iterator[Browser]:
    """Start a browser with an empty profile; its pictures go to ``SOAT_TEST_SHOTS`` or the folder."""
    require_chromium()
    shots = Path(os.environ.get("SOAT_TEST_SHOTS") or folder / "shots")
    shots.mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for option in (*OPTIONS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(CHROMEDRIVER)))
    try:
        yield Browser(driver, shots)
    finally:
        driver.quit()
