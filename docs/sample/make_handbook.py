"""Write handbook.pdf, the sample document of the demo.

    python docs/sample/make_handbook.py [output.pdf]

The text below is invented. The dates are fixed and nothing is random, so the same version of fpdf2 writes the same
bytes each time. Only the built-in PDF fonts are used (cp1252: accents, dashes and the euro sign), and every chapter
must fit its page: the script stops if one does not.
"""

# ruff: noqa: RUF001 (typographic dashes and quotation marks are meant)

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from fpdf import FPDF

# --- What can stand on a page ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Bullets:
    """One item a paragraph: each begins with a hyphen."""

    text: str


@dataclass(frozen=True)
class Steps:
    """Like `Bullets`, but numbered."""

    text: str


@dataclass(frozen=True)
class Note:
    title: str
    text: str


@dataclass(frozen=True)
class Table:
    """Widths are shares of the text width; `align` has one letter a column: L, C or R."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    widths: tuple[float, ...]
    align: str


@dataclass(frozen=True)
class RouteMap:
    stops: tuple[str, ...]
    legs: tuple[str, ...]


@dataclass(frozen=True)
class Columns:
    left: tuple[Heading | Text | Bullets | Steps, ...]
    right: tuple[Heading | Text | Bullets | Steps, ...]


Block = Heading | Text | Bullets | Steps | Note | Table | RouteMap | Columns


@dataclass(frozen=True)
class Chapter:
    title: str
    summary: str
    lead: str
    blocks: tuple[Block, ...]


# --- The text ----------------------------------------------------------------------------------------------------

COMPANY = "Harbour & Tide Ferries"
TITLE = "Operations Handbook"
EDITION = "Edition 7 — valid from 1 March 2026"
PUBLISHED = datetime(2026, 2, 16, 9, 0, tzinfo=UTC)

COVER_TEXT = (
    "For everyone who sells a ticket, ties a rope or answers a passenger. Keep a copy in every ticket desk, "
    "wheelhouse and crew room. Where this handbook and the safety management system differ, the safety management "
    "system wins."
)

IMPRINT = (
    "Published by the operations office, Pier Road 4, Tarnmouth. Editor: Désirée Falk. Corrections to "
    "handbook@harbourtide.example; the next edition is due in September 2026."
)

BOOKING = Chapter(
    title="Booking and tickets",
    summary="Where tickets are sold, what they cost and when to check in",
    lead="Every sale is made in the reservation system Lantern — on the website, at a quay desk or by telephone. "
    "On board, only foot passengers can still buy a ticket.",
    blocks=(
        Heading("When a sailing can be booked"),
        Bullets(
            """
            - Bookings open **180 days** before the sailing. Groups of 12 or more go through the group desk
              (groups@harbourtide.example), which answers within two working days.
            - Online sales close **45 minutes** before departure for vehicles and 10 minutes before departure for
              foot passengers.
            - The booking line, 0800 555 0142, is staffed daily from 07:00 to 20:00 in English, French and Danish.
            """
        ),
        Table(
            caption="Fares for one crossing, tax included",
            head=("Who or what travels", "Saver", "Flex", "Islander Card"),
            rows=(
                ("Adult on foot", "€14.50", "€18.00", "€8.70"),
                ("Child, 4 to 15 years (under 4 free)", "€7.25", "€9.00", "€4.35"),
                ("Bicycle or e-scooter", "€3.00", "€3.00", "free"),
                ("Motorcycle with rider", "€21.00", "€26.00", "€12.60"),
                ("Car up to 5 m with driver", "€46.00", "€57.50", "€27.60"),
                ("Campervan up to 8 m with driver", "€72.00", "€90.00", "€43.20"),
                ("Freight, per metre begun", "€13.40", "€13.40", "€13.40"),
            ),
            widths=(0.46, 0.18, 0.18, 0.18),
            align="LRRR",
        ),
        Heading("Which ticket to sell"),
        Text(
            "A **Saver** ticket is tied to one sailing and can be moved once, for a fee of €6. A **Flex** ticket "
            "may be moved as often as the passenger likes until the lanes close, and is valid on any sailing of the "
            "same day. The **Islander Card** costs €25 a year, takes 40 % off the Saver fare and is sold only "
            "against proof of an island address not older than three months."
        ),
        Heading("Check-in and standby"),
        Bullets(
            """
            - Cars are in their lane 30 minutes before departure, freight 60 minutes. A booked space that is still
              empty 15 minutes before departure is given to standby.
            - Standby vehicles wait in **lane 6** and are called in the order in which they arrived. Doctors,
              midwives and vets on duty go first.
            - Height and length are measured at the gate. A vehicle more than 20 cm longer than booked pays the
              difference; it is never turned away if there is room.
            """
        ),
    ),
)

REFUNDS = Chapter(
    title="Refunds and cancellations",
    summary="What passengers get back, and what we owe when we are late",
    lead="Tell the passenger the amount before you cancel anything: a cancelled ticket cannot be brought back. "
    "What is paid back depends on the type of ticket and on the time left until departure.",
    blocks=(
        Table(
            caption="When the passenger cancels: share of the fare paid back",
            head=("Time left until departure", "Saver", "Flex"),
            rows=(
                ("More than 14 days", "75 %", "100 %"),
                ("From 14 days down to 48 hours", "50 %", "100 %"),
                ("Less than 48 hours, before the lanes close", "25 %", "90 %"),
                ("No-show, or after the lanes have closed", "nothing", "voucher for 50 %"),
            ),
            widths=(0.56, 0.2, 0.24),
            align="LRR",
        ),
        Note(
            "Worked example",
            "A family cancels its Saver ticket for a car (€46.00) five days before the trip. Five days lie between "
            "14 days and 48 hours, so half of the fare, €23.00, goes back to the card that paid.",
        ),
        Heading("When we cancel or are late"),
        Text(
            "If a sailing is cancelled by us, for whatever reason, the passenger chooses between the full fare and "
            "a free place on another sailing within the next seven days. For a late arrival the compensation is "
            "**25 %** of the fare from 90 minutes and **50 %** from three hours. No compensation is due when the "
            "delay is caused by weather, but the care on the quay is the same:"
        ),
        Bullets(
            """
            - a meal voucher of €12 for each person after two hours of waiting;
            - a room for up to €95 per person when the next sailing is on the following day;
            - one free telephone call or message, and the use of the waiting room all night.
            """
        ),
        Columns(
            left=(
                Heading("How the money is paid"),
                Text(
                    "Refunds go to the original card within 10 working days. Quay desks pay out at most €60 in "
                    "cash. Vouchers are valid for 24 months and can be given to somebody else."
                ),
            ),
            right=(
                Heading("Who may approve"),
                Text(
                    "Desk staff may add up to €40 as goodwill. Any refund above €500 needs the signature of the "
                    "duty manager. Nobody approves a refund on a booking of their own family."
                ),
            ),
        ),
        Heading("Complaints"),
        Text(
            "A complaint may be made up to 60 days after the journey, in writing, in any language. Passenger "
            "Relations (Tomás Ferreira) confirms it within three days and answers it within 21. Whoever is not "
            "content with the answer may turn to the Regional Transport Ombudsman; give them form C-2, which "
            "explains how."
        ),
    ),
)

TIMETABLE = Chapter(
    title="Timetable",
    summary="Summer sailings, days without service and the tide at Gråvik",
    lead="The summer timetable runs from 28 March to 1 November 2026. Times are local. The lanes close, and the "
    "ramp is raised, five minutes before the time shown.",
    blocks=(
        RouteMap(
            stops=("Corrayne", "Port Évain", "Tarnmouth", "Skellan", "Gråvik"),
            legs=("45 min", "1 h 10 min", "35 min", "25 min"),
        ),
        Table(
            caption="Sailings in summer 2026",
            head=("Sailing", "From", "Departs", "To", "Arrives", "Runs", "Vessel"),
            rows=(
                ("HT 101", "Tarnmouth", "06:20", "Skellan", "06:55", "Mon–Sat", "Petrel Spirit"),
                ("HT 102", "Skellan", "07:20", "Tarnmouth", "07:55", "Mon–Sat", "Petrel Spirit"),
                ("HT 105", "Tarnmouth", "09:40", "Skellan", "10:15", "daily", "Petrel Spirit"),
                ("HT 106", "Skellan", "11:00", "Tarnmouth", "11:35", "daily", "Petrel Spirit"),
                ("HT 113", "Tarnmouth", "17:30", "Skellan", "18:05", "daily", "Saint-Évain"),
                ("HT 114", "Skellan", "18:40", "Tarnmouth", "19:15", "daily", "Saint-Évain"),
                ("HT 201", "Tarnmouth", "07:45", "Port Évain", "08:55", "daily", "Aurelia Tide"),
                ("HT 202", "Port Évain", "09:30", "Tarnmouth", "10:40", "daily", "Aurelia Tide"),
                ("HT 207", "Tarnmouth", "15:10", "Port Évain", "16:20", "daily", "Aurelia Tide"),
                ("HT 208", "Port Évain", "18:15", "Tarnmouth", "19:25", "daily", "Aurelia Tide"),
                ("HT 301", "Skellan", "11:05", "Gråvik", "11:30", "Tue, Thu, Sat", "Gråsel"),
                ("HT 302", "Gråvik", "16:45", "Skellan", "17:10", "Tue, Thu, Sat", "Gråsel"),
                ("HT 401", "Port Évain", "10:00", "Corrayne", "10:45", "Fri–Sun", "Kittiwake"),
                ("HT 402", "Corrayne", "19:00", "Port Évain", "19:45", "Fri–Sun", "Kittiwake"),
            ),
            widths=(0.11, 0.15, 0.12, 0.15, 0.12, 0.17, 0.18),
            align="LLCLCLL",
        ),
        Heading("Exceptions"),
        Bullets(
            """
            - No ferry sails on 25 December and 1 January. On 24 and 31 December the last departure is at 16:00.
            - Dangerous goods travel on **HT 190** only, Wednesdays at 05:40 from Tarnmouth, without passengers.
            - HT 401 and HT 402 carry foot passengers and bicycles; there is no ramp for cars at Corrayne.
            """
        ),
        Note(
            "Low water at Gråvik",
            "When the tide gauge shows less than 0.6 m, the ramp at Gråvik is too steep for vehicles over 3.5 "
            "tonnes. They wait for the tide or go back to Skellan at no charge.",
        ),
        Heading("Telling passengers"),
        Text(
            "A delay of more than ten minutes goes on the quay boards, one of more than twenty also by text message to "
            "everybody with a booking. Give the new time, the reason and when you will speak again."
        ),
    ),
)

SAFETY = Chapter(
    title="Safety on board",
    summary="Fire drill, man overboard, alarms and assembly stations",
    lead="Drills are held with the doors open, the passengers told and a stopwatch running. The master, not the "
    "timetable, decides whether a drill is good enough.",
    blocks=(
        Heading("Alarm signals"),
        Bullets(
            """
            - **General emergency:** seven short blasts and one long blast. Passengers go to assembly station A
              (saloon, deck 4) or B (aft lounge, deck 5).
            - **Fire:** continuous ringing of the bells. **Man overboard:** three long blasts, repeated.
            """
        ),
        Heading("Fire drill"),
        Text(
            "Each vessel holds a fire drill once a week, on Thursday at 09:15, in a different space each time. The "
            "fire party of four has to stand at the scene, in breathing apparatus and with a charged hose, within "
            "**six minutes** of the alarm. Ventilation and fire dampers of the space are shut before anybody "
            "enters. On the car deck the drencher is used first; carbon dioxide in the engine room is released only "
            "by the chief engineer, after a head count."
        ),
        Heading("Man overboard"),
        Steps(
            """
            - Shout “Man overboard” and the side. Throw the nearest lifebuoy with light and smoke.
            - Point at the person and do not look away. Whoever sees the person does nothing else.
            - The bridge sounds three long blasts, marks the position and makes a **Williamson turn**: the helm hard
              over to the side of the casualty, then hard over the other way after 60 degrees.
            - Call the coastguard on VHF channel 16 and launch the rescue boat. It is in the water within five
              minutes, with a crew of three in immersion suits.
            - Lift the casualty lying flat, keep them warm and hand them to the ambulance at the quay.
            """
        ),
        Table(
            caption="Drill calendar",
            head=("Drill", "How often", "Led by", "Recorded on"),
            rows=(
                ("Fire", "every week, Thursday", "Chief officer", "Form S-1"),
                ("Man overboard", "every month, first Monday", "Master", "Form S-2"),
                ("Abandon ship", "every month, third Monday", "Master", "Form S-3"),
                ("Steering failure", "every three months", "Chief engineer", "Form S-6"),
                ("Oil spill", "twice a year", "Safety manager ashore", "Form S-9"),
            ),
            widths=(0.23, 0.31, 0.27, 0.19),
            align="LLLL",
        ),
        Text(
            "Life jackets for infants hang beside each assembly station, ten on every vessel; a defibrillator hangs "
            "at the foot of the main stairs. The safety manager is Captain Aodhán Ó Briain; forms reach him "
            "the same day."
        ),
    ),
)

VESSELS = Chapter(
    title="The vessels",
    summary="Names, years, capacity, engines and berths of the fleet",
    lead="Five vessels carry about 640,000 passengers a year. The figures below are the certified ones; no master "
    "may go over them, not even by an infant in arms.",
    blocks=(
        Table(
            caption="The fleet",
            head=("Vessel", "Built", "Length", "Passengers", "Cars", "Engine", "Speed"),
            rows=(
                ("MV Aurelia Tide", "2019", "78.4 m", "450", "68", "2 × Brandt 8L28, diesel, 4,160 kW", "17.5 kn"),
                ("MV Saint-Évain", "2008", "62.0 m", "299", "42", "2 × Brandt 6L28, diesel, 3,120 kW", "15.0 kn"),
                ("MV Petrel Spirit", "2024", "55.7 m", "180", "24", "hybrid, 2.4 MWh battery, 1,800 kW", "13.5 kn"),
                ("MV Gråsel", "2013", "41.2 m", "120", "14", "2 × Corvane C18, diesel, 1,060 kW", "12.0 kn"),
                ("MV Kittiwake", "1996", "33.5 m", "96", "none", "2 × Corvane C32, diesel, 2,160 kW", "26.0 kn"),
            ),
            widths=(0.18, 0.08, 0.1, 0.13, 0.08, 0.33, 0.1),
            align="LCRRRLR",
        ),
        Heading("Crew and berths"),
        Bullets(
            """
            - **Aurelia Tide** sails with 14 crew, berth 1 at Tarnmouth. She is the only vessel with a hot kitchen.
            - **Saint-Évain** sails with 11 crew. She is the relief vessel and lies at berth 3 when not needed.
            - **Petrel Spirit** sails with 8 crew from berth 2, where the shore charger stands.
            - **Gråsel** sails with 5 crew and spends the night at Skellan.
            - **Kittiwake** sails with 4 crew. She is a catamaran, rebuilt in 2017, and stays in port when the waves
              are higher than 2.2 m.
            """
        ),
        Note(
            "Charging Petrel Spirit",
            "The charger at berth 2 gives 3.2 MW and fills the battery from 20 to 80 per cent in 27 minutes. Below "
            "30 per cent the diesel generators start by themselves. The battery room stays shut while charging.",
        ),
        Columns(
            left=(
                Heading("Fuel"),
                Text(
                    "Diesel is taken at Tarnmouth on Tuesday and Friday, from 22:30, with no passengers on board. "
                    "Aurelia Tide burns about 410 litres an hour at service speed, Gråsel about 95."
                ),
            ),
            right=(
                Heading("Flag and class"),
                Text(
                    "All vessels are registered in Tarnmouth. Class certificates are kept in the wheelhouse in a "
                    "red folder, with a copy at the operations office."
                ),
            ),
        ),
        Heading("Names"),
        Text(
            "Aurelia Tide is named after Aurelia Voss, who rowed the mail to Skellan from 1887 to 1911. Gråsel is "
            "the local word for the grey seal. A vessel is called “she” in announcements, and her name is never "
            "translated."
        ),
    ),
)

MAINTENANCE = Chapter(
    title="Maintenance schedule",
    summary="Intervals, part numbers, defects and dry dock",
    lead="Work is planned by running hours or by calendar, whichever comes first. The technical superintendent, "
    "Håkon Lindqvist, keeps the plan and signs off every overdue job in person.",
    blocks=(
        Table(
            caption="Planned work on main engines and deck",
            head=("Work", "Interval", "Part number", "Done by"),
            rows=(
                ("Change the fuel filter cartridge", "500 hours", "PN-2280-B", "Second engineer"),
                ("Replace the sea-water pump impeller", "2,000 hours", "PN-4417-A", "Second engineer"),
                ("Renew the hull anodes", "12 months", "PN-1093-C", "Dockyard"),
                ("Replace the bow-door seal", "24 months", "PN-3305-D", "Dockyard"),
                ("Grease the ramp hinges", "14 days", "PN-0618-A", "Deck crew"),
                ("Change the battery coolant", "36 months", "PN-7752-A", "Maker’s technician"),
                ("Test the emergency generator", "7 days", "no part", "Chief engineer"),
            ),
            widths=(0.37, 0.18, 0.2, 0.25),
            align="LLLL",
        ),
        Note(
            "Do not mix fuel filters",
            "PN-2280-B replaced PN-2280-A in January 2025. The gasket of the new cartridge is 2 mm thicker: an old "
            "and a new one in the same housing leak diesel. Return every PN-2280-A to the store.",
        ),
        Heading("Reporting a defect"),
        Text(
            "Write every defect on form M-14 and give it a class. **Class 1** is mended before the next sailing, "
            "**class 2** within 72 hours, **class 3** at the next docking. Only the master may put a defect into a "
            "lower class, and writes the reason beside it. A lamp out in a passenger stairway is always class 1."
        ),
        Heading("Spare parts"),
        Bullets(
            """
            - The store at Tarnmouth keeps at least **eight** fuel filter cartridges, two impellers and one bow-door
              seal. Orders go to Brandt Marine in Aarhus, who deliver in four working days.
            - Every part taken is scanned out. What is not scanned is missing at the next count, on the last Friday
              of the month.
            """
        ),
        Table(
            caption="Dry dock, winter 2026 to 2027",
            head=("Vessel", "Yard", "From", "Until", "Main job"),
            rows=(
                ("MV Aurelia Tide", "Corrayne Slip", "9 November", "4 December", "bow-door seal, paint"),
                ("MV Kittiwake", "Corrayne Slip", "7 December", "18 December", "waterjet overhaul"),
                ("MV Saint-Évain", "Aarhus Dokk", "11 January", "12 February", "new gearbox, port side"),
            ),
            widths=(0.2, 0.19, 0.17, 0.17, 0.27),
            align="LLLLL",
        ),
    ),
)

LOST_PROPERTY = Chapter(
    title="Lost property",
    summary="Labels, keeping times and fees",
    lead="Whatever is found is labelled, entered in the lost-property book and brought to the Tarnmouth desk on "
    "the last sailing of the day.",
    blocks=(
        Bullets(
            """
            - The label shows vessel, sailing, seat or deck, date and the finder’s initials.
            - Telephones and laptops are switched off, never searched. The owner unlocks them as proof.
            - Collecting is free. Sending an item by post costs €9.50 within the country and €18 abroad.
            """
        ),
        Table(
            caption="How long things are kept",
            head=("Found", "Kept for", "Then"),
            rows=(
                ("Clothes, bags, umbrellas", "90 days", "Seamen’s Mission"),
                ("Telephones, laptops, cameras", "180 days", "wiped and recycled"),
                ("Passports and identity cards", "48 hours", "police at Tarnmouth"),
                ("Food and flowers", "the same evening", "thrown away"),
            ),
            widths=(0.42, 0.26, 0.32),
            align="LLL",
        ),
        Text(
            "Noor Jansen keeps the book; the desk opens from 08:30 to 17:30, Monday to Saturday. A wallet is "
            "counted by two people and sealed in front of both."
        ),
    ),
)

ACCESS = Chapter(
    title="Accessibility and pets",
    summary="Help on board, wheelchairs, dogs, cats and horses",
    lead="Nobody has to explain a disability in order to get help. Ask what would be useful, then do that.",
    blocks=(
        Columns(
            left=(
                Bullets(
                    """
                    - **Help** is booked 24 hours ahead, but given without booking wherever it can be.
                    - **Lifts** to the saloon: Aurelia Tide, Saint-Évain and Petrel Spirit. Gråsel and Kittiwake have
                      no lift; use the stair climber.
                    - **Wheelchairs** have two spaces on each vessel, four on Aurelia Tide. One companion travels free.
                    - **Hearing loops** are switched on at every desk with a blue ear on the glass.
                    """
                ),
            ),
            right=(
                Bullets(
                    """
                    - **Dogs** travel free, on a lead, on the open deck and in the aft lounge of deck 5. They are not
                      allowed in the saloon.
                    - **Cats** and small animals stay in a carrier of at most 60 cm.
                    - **In the car** pets may stay only on crossings under 40 minutes; the owner may not visit the car
                      deck at sea.
                    - **Horses** need a trailer and a place booked three days ahead, €31 each.
                    """
                ),
            ),
        ),
        Note(
            "Guide and assistance dogs",
            "Assistance dogs go wherever their owner goes, the saloon and the restaurant included, without a lead "
            "rule and without a fee.",
        ),
    ),
)

STAFF = Chapter(
    title="Leave and shifts",
    summary="Rosters, rest, holidays, sickness and pay for extra hours",
    lead="The roster is published in Rota on the 15th for the month after. Nobody works a shift that is not in "
    "Rota — the insurance does not cover it.",
    blocks=(
        Table(
            caption="Shift patterns ashore",
            head=("Shift", "Starts", "Ends", "Break", "Allowance"),
            rows=(
                ("Early", "05:15", "13:15", "30 minutes", "€8.00 a shift"),
                ("Day", "08:30", "17:00", "45 minutes", "none"),
                ("Late", "13:00", "21:00", "30 minutes", "€6.50 a shift"),
                ("Night", "21:00", "05:30", "45 minutes", "€22.00 a shift"),
            ),
            widths=(0.2, 0.16, 0.16, 0.22, 0.26),
            align="LCCLR",
        ),
        Text(
            "Crew at sea work 14 days on and 7 days off. Between two shifts lie at least **11 hours** of rest, at "
            "sea as well as ashore. After three nights in a row comes a free day. Two colleagues of the same grade "
            "may swap shifts until 24 hours before; both confirm it in Rota."
        ),
        Heading("Annual leave"),
        Bullets(
            """
            - Full-time staff have **28 days** a year, and one day more for every five years of service, up to 33
              days.
            - Ask at least six weeks ahead for more than three days in a row. The answer comes within ten days; no
              answer means yes.
            - From 10 July to 20 August at most two weeks are granted to each person. Parents of school children
              choose first.
            - Up to five days may be carried into the next year and are lost on 30 April.
            """
        ),
        Heading("Illness and family"),
        Text(
            "Whoever falls ill calls the duty line, 0800 555 0177, no later than two hours before the shift begins; "
            "a message is not enough. A doctor’s note is needed from the fourth day. Parental leave is 18 weeks on "
            "full pay for either parent. For a death in the family there are five days, or eight if travel abroad "
            "is needed."
        ),
        Columns(
            left=(
                Heading("Extra hours"),
                Text(
                    "Extra hours are paid at 150 %, on Sundays and public holidays at 200 %. Whoever prefers may "
                    "take them as time off within three months."
                ),
            ),
            right=(
                Heading("Training"),
                Text(
                    "Everyone has four paid training days a year. First aid is renewed every two years with Zoë "
                    "Marchetti, who also runs the welcome day for new staff."
                ),
            ),
        ),
        Note(
            "Uniform",
            "Two jackets, five shirts and one pair of safety shoes are issued in the first week. Shoes are "
            "replaced every 12 months, at once when the sole is cracked.",
        ),
    ),
)

SYSTEMS = Chapter(
    title="IT and error codes",
    summary="What the codes mean, who helps and how to sell on paper",
    lead="Read the code to the help desk exactly as it stands on the screen. Do not restart anything twice: the "
    "second restart deletes the log that would have shown the cause.",
    blocks=(
        Table(
            caption="Error codes at the desk and at the gate",
            head=("Code", "What it means", "What to do"),
            rows=(
                (
                    "ERR-7041",
                    "Card terminal has lost its connection",
                    "Switch it to the mobile network, menu 4, then 2",
                ),
                ("ERR-7042", "Card terminal is out of paper", "Load a roll of 57 mm; the receipt prints by itself"),
                ("ERR-3310", "Passenger list of the last sailing is still open", "Close it with the master’s code"),
                ("ERR-5208", "Clock of the gate scanner is wrong", "Place it in the cradle for one minute"),
                ("ERR-9001", "Lantern can be read but not written", "Sell on paper, form T-3, and call the help desk"),
            ),
            widths=(0.14, 0.4, 0.46),
            align="LLL",
        ),
        Heading("Help desk"),
        Text(
            "Call extension 700, or write to helpdesk@harbourtide.example, from 05:00 to 23:00. At night the duty "
            "engineer is paged for ERR-9001 only. A fault that stops sales at two quays is a major incident: the "
            "help desk calls the operations director, Ingrid Sørbø, within 15 minutes."
        ),
        Heading("When Lantern is down"),
        Steps(
            """
            - Take the grey box from under the desk. It holds 200 numbered paper tickets and a cash float of €150.
            - Write names and number of passengers on form T-3: the coastguard needs the list before departure.
            - Enter everything into Lantern within four hours after it is back, with the letter P before the number.
            """
        ),
        Columns(
            left=(
                Heading("Passwords"),
                Text(
                    "At least 14 characters, no forced change. Every account uses a second factor. The help desk "
                    "never asks for a password, not even the director’s."
                ),
            ),
            right=(
                Heading("How long data is kept"),
                Text(
                    "Camera pictures 30 days, passenger lists 90 days, bookings seven years for the tax office. "
                    "Requests of the police go to the data officer, Léa Brandão."
                ),
            ),
        ),
        Note(
            "Lost tablet or telephone",
            "Call extension 700 at once, day or night. The device is wiped from afar within ten minutes, and "
            "nobody is blamed for reporting early.",
        ),
        Table(
            caption="Whom to call",
            head=("Name", "What for", "Extension"),
            rows=(
                ("Ingrid Sørbø", "operations director, major incidents", "701"),
                ("Léa Brandão", "personal data, requests of the police", "714"),
                ("Håkon Lindqvist", "engines, dry dock, spare parts", "730"),
                ("Tomás Ferreira", "complaints, letters to passengers", "742"),
            ),
            widths=(0.3, 0.5, 0.2),
            align="LLR",
        ),
    ),
)

#: The chapters of each page after the cover.
PAGES: tuple[tuple[Chapter, ...], ...] = (
    (BOOKING,),
    (REFUNDS,),
    (TIMETABLE,),
    (SAFETY,),
    (VESSELS,),
    (MAINTENANCE,),
    (LOST_PROPERTY, ACCESS),
    (STAFF,),
    (SYSTEMS,),
)

# --- The look ----------------------------------------------------------------------------------------------------

Colour = tuple[int, int, int]

NAVY: Colour = (14, 42, 71)
DUSK: Colour = (39, 88, 122)
TEAL: Colour = (15, 118, 133)
PALE_TEAL: Colour = (126, 196, 205)
INK: Colour = (38, 46, 56)
GREY: Colour = (104, 116, 130)
LINE: Colour = (208, 216, 224)
TINT: Colour = (241, 246, 248)
WHITE: Colour = (255, 255, 255)

MARGIN = 20.0
TOP = 25.0
BOTTOM = 22.0
GUTTER = 10.0
BODY_SIZE = 10.2
LEADING = 5.2


@dataclass(frozen=True)
class Cell:
    """A piece of a line: where it may stand and how it looks."""

    text: str
    x: float
    width: float
    align: str
    size: float
    bold: bool = False
    colour: Colour = INK


def items_of(text: str) -> list[str]:
    return [" ".join(item.split()) for item in re.split(r"^\s*- ", text, flags=re.MULTILINE)[1:]]


class Handbook(FPDF):
    """A4 pages with a running header and footer, and one method for each kind of block."""

    def __init__(self) -> None:
        super().__init__(format="A4")
        self.core_fonts_encoding = "cp1252"
        self.running_title = ""
        self.left = MARGIN
        self.in_column = False
        self.width = self.w - 2 * MARGIN
        self.set_margins(MARGIN, TOP, MARGIN)
        self.set_auto_page_break(False)
        self.c_margin = 0
        self.set_creation_date(PUBLISHED)
        self.set_title(f"{COMPANY} — {TITLE}")
        self.set_author(COMPANY)
        self.set_subject(EDITION)
        self.set_lang("en-GB")

    # Frame

    def header(self) -> None:
        if self.page_no() == 1:
            return
        half = self.w / 2 - MARGIN
        name = Cell(f"{COMPANY} — {TITLE}", MARGIN, half, "L", 8, colour=GREY)
        title = Cell(self.running_title, MARGIN + half, half, "R", 8, bold=True, colour=TEAL)
        self.line_of_cells(12, 5, (name, title))
        self.rule(18.5)

    def footer(self) -> None:
        if self.page_no() == 1:
            return
        self.rule(self.h - 15.5)
        half = self.w / 2 - MARGIN
        edition = Cell(EDITION, MARGIN, half, "L", 8, colour=GREY)
        page = Cell(f"Page {self.page_no()} of {len(PAGES) + 1}", MARGIN + half, half, "R", 8, colour=GREY)
        self.line_of_cells(self.h - 13.5, 5, (edition, page))

    def rule(self, y: float) -> None:
        self.set_draw_color(*LINE)
        self.set_line_width(0.25)
        self.line(MARGIN, y, self.w - MARGIN, y)

    def style(self, size: float, *, bold: bool = False, colour: Colour = INK) -> None:
        self.set_font("helvetica", "B" if bold else "", size)
        self.set_text_color(*colour)

    def line_of_cells(self, y: float, height: float, cells: Sequence[Cell]) -> None:
        """One line of separate cells, read as one line: a stretched space fills the gap between two of them."""
        end: float | None = None
        for cell in cells:
            self.style(cell.size, bold=cell.bold, colour=cell.colour)
            width = self.get_string_width(cell.text)
            if width > cell.width:
                raise SystemExit(f"{cell.text!r} is {width - cell.width:.1f} mm wider than its cell")
            start = cell.x + (cell.width - width) * {"L": 0.0, "C": 0.5, "R": 1.0}[cell.align]
            if end is not None:
                self.set_stretching(100 * (start - end) / self.get_string_width(" "))
                self.set_xy(end, y)
                self.cell(start - end, height, " ")
                self.set_stretching(100)
            self.set_xy(start, y)
            self.cell(width, height, cell.text)
            end = start + width

    def text_at(self, x: float, width: float, text: str, leading: float) -> None:
        """Text in a column of the given width; the cursor ends below it."""
        self.set_x(x)
        self.multi_cell(width, leading, text, align="L", markdown=True, new_x="LEFT", new_y="NEXT")

    def lines_of(self, width: float, text: str) -> int:
        lines = self.multi_cell(width, 1, text, align="L", markdown=True, dry_run=True, output="LINES")
        return len(cast("list[str]", lines))

    # Cover

    def cover(self) -> None:
        self.add_page()
        band = 108.0
        self.set_fill_color(*NAVY)
        self.rect(0, 0, self.w, band, style="F")
        self.ferry(132, 77)
        for depth, colour in enumerate((DUSK, TEAL, PALE_TEAL, WHITE)):
            self.wave(
                band - 19 + 6.2 * depth,
                height=2.6 - 0.35 * depth,
                length=46 - 4 * depth,
                shift=9 * depth,
                colour=colour,
            )

        self.style(13, bold=True, colour=PALE_TEAL)
        self.set_xy(MARGIN, 26)
        self.cell(text=COMPANY)
        self.style(36, bold=True, colour=WHITE)
        self.set_xy(MARGIN, 34)
        self.cell(h=16, text=TITLE)
        self.style(11, colour=WHITE)
        self.set_xy(MARGIN, 53)
        self.cell(text=EDITION)

        self.style(11, colour=INK)
        self.set_y(120)
        self.text_at(MARGIN, self.width, COVER_TEXT, 5.6)
        self.ln(8)
        self.style(15, bold=True, colour=NAVY)
        self.text_at(MARGIN, self.width, "Contents", 7)
        self.ln(2.5)
        for number, chapters in enumerate(PAGES, start=2):
            for chapter in chapters:
                self.contents_line(number, chapter)
        self.rule(self.get_y())
        self.style(8.5, colour=GREY)
        self.set_y(self.h - 23)
        self.text_at(MARGIN, self.width, IMPRINT, 4.2)

    def contents_line(self, number: int, chapter: Chapter) -> None:
        y = self.get_y()
        height = 10.2
        self.rule(y)
        cells = [
            Cell(str(number), MARGIN, 8, "L", 11, bold=True, colour=TEAL),
            Cell(chapter.title, MARGIN + 8, 58, "L", 10.5, bold=True, colour=NAVY),
            Cell(chapter.summary, MARGIN + 66, self.width - 66, "L", 9, colour=GREY),
        ]
        self.line_of_cells(y, height, cells)
        self.link(MARGIN, y, self.width, height, self.add_link(page=number))
        self.set_y(y + height)

    def wave(self, y: float, *, height: float, length: float, shift: float, colour: Colour) -> None:
        steps = 105
        bottom = y + 12
        points = [(0.0, bottom)]
        for step in range(steps + 1):
            x = self.w * step / steps
            points.append((x, round(y + height * math.sin((x + shift) / length * math.tau), 2)))
        points.append((self.w, bottom))
        self.set_fill_color(*colour)
        self.polygon(points, style="F")

    def ferry(self, x: float, y: float) -> None:
        """A ferry in a few flat shapes; (x, y) is the upper left corner of the hull."""
        self.set_fill_color(*WHITE)
        self.rect(x + 9, y - 7, 41, 7.2, style="F")
        self.rect(x + 14, y - 13, 28, 6.2, style="F")
        self.rect(x + 33, y - 17, 7, 4.2, style="F")
        self.set_fill_color(*TEAL)
        self.polygon([(x + 18, y - 13), (x + 19, y - 20), (x + 25, y - 20), (x + 26, y - 13)], style="F")
        self.set_fill_color(*PALE_TEAL)
        self.polygon([(x - 2, y), (x + 62, y), (x + 54, y + 16), (x + 3, y + 16)], style="F")
        self.set_fill_color(*NAVY)
        for window in range(9):
            self.rect(x + 11.6 + 4.2 * window, y - 4.9, 2.4, 2, style="F")
        for window in range(6):
            self.rect(x + 16.4 + 4.2 * window, y - 11, 2.4, 2, style="F")

    # Chapters

    def page_of(self, chapters: Sequence[Chapter]) -> None:
        self.running_title = " / ".join(chapter.title for chapter in chapters)
        self.add_page()
        self.set_y(TOP)
        for position, chapter in enumerate(chapters):
            if position:
                self.ln(7)
            self.start_section(chapter.title)
            self.set_fill_color(*TEAL)
            self.rect(MARGIN, self.get_y(), 14, 1.1, style="F")
            self.ln(3.6)
            self.style(21, bold=True, colour=NAVY)
            self.text_at(MARGIN, self.width, chapter.title, 9)
            self.ln(1.6)
            self.style(11, colour=GREY)
            self.text_at(MARGIN, self.width, chapter.lead, 5.4)
            self.ln(2.5)
            for block in chapter.blocks:
                self.block(block)
        room = self.h - BOTTOM - self.get_y()
        if room < 0:
            raise SystemExit(f"{self.running_title}: the text is {-room:.1f} mm longer than the page")

    def block(self, block: Block) -> None:
        match block:
            case Heading():
                self.heading(block)
            case Text():
                self.style(BODY_SIZE)
                self.text_at(self.left, self.width, block.text, LEADING)
                self.ln(1.2)
            case Bullets():
                self.bullets(block)
            case Steps():
                self.steps(block)
            case Note():
                self.note(block)
            case Table():
                self.sheet(block)
            case RouteMap():
                self.route_map(block)
            case Columns():
                self.columns(block)

    def heading(self, block: Heading) -> None:
        self.ln(3.2)
        if self.in_column:
            self.style(BODY_SIZE, bold=True, colour=TEAL)
            self.text_at(self.left, self.width, block.text, LEADING)
            return
        self.style(12.5, bold=True, colour=NAVY)
        self.text_at(self.left, self.width, block.text, 6)
        self.ln(1.4)

    def bullets(self, block: Bullets) -> None:
        for item in items_of(block.text):
            self.set_fill_color(*TEAL)
            self.circle(self.left + 1.6, self.get_y() + LEADING / 2, 0.65, style="F")
            self.style(BODY_SIZE)
            self.text_at(self.left + 5, self.width - 5, item, LEADING)
            self.ln(0.1 if self.in_column else 1)

    def steps(self, block: Steps) -> None:
        for number, item in enumerate(items_of(block.text), start=1):
            self.style(BODY_SIZE, bold=True, colour=TEAL)
            self.set_x(self.left)
            self.cell(5, LEADING, f"{number}.")
            self.style(BODY_SIZE)
            self.text_at(self.left + 5, self.width - 5, item, LEADING)
            self.ln(1)

    def note(self, block: Note) -> None:
        self.ln(3)
        pad = 3.6
        inner = self.width - 2 * pad - 1.2
        self.style(BODY_SIZE)
        height = 2 * pad + 5.4 + LEADING * self.lines_of(inner, block.text) - 1
        y = self.get_y()
        self.set_fill_color(*TINT)
        self.rect(self.left, y, self.width, height, style="F")
        self.set_fill_color(*TEAL)
        self.rect(self.left, y, 1.2, height, style="F")
        self.set_y(y + pad - 0.6)
        self.style(10, bold=True, colour=TEAL)
        self.text_at(self.left + pad + 1.2, inner, block.title, 5.4)
        self.style(BODY_SIZE)
        self.text_at(self.left + pad + 1.2, inner, block.text, LEADING)
        self.set_y(y + height)
        self.ln(1.5)

    def sheet(self, block: Table) -> None:
        self.ln(3)
        self.style(9.5, bold=True, colour=NAVY)
        self.text_at(self.left, self.width, block.caption, 5)
        self.ln(1.4)
        self.table_row(block.head, block, fill=NAVY, colour=WHITE, bold=True)
        for number, row in enumerate(block.rows):
            self.table_row(row, block, fill=TINT if number % 2 else WHITE, colour=INK)
        self.set_draw_color(*NAVY)
        self.set_line_width(0.4)
        self.line(self.left, self.get_y(), self.left + self.width, self.get_y())
        self.ln(3)

    def table_row(
        self, texts: Sequence[str], block: Table, *, fill: Colour, colour: Colour, bold: bool = False
    ) -> None:
        height, pad = 7.3, 2.0
        y = self.get_y()
        self.set_fill_color(*fill)
        self.rect(self.left, y, self.width, height, style="F")
        cells: list[Cell] = []
        x = self.left
        for text, share, align in zip(texts, block.widths, block.align, strict=True):
            width = share * self.width
            cells.append(Cell(text, x + pad, width - 2 * pad, align, 9, bold=bold, colour=colour))
            x += width
        self.line_of_cells(y, height, cells)
        self.set_y(y + height)

    def route_map(self, block: RouteMap) -> None:
        self.ln(4)
        y = self.get_y() + 7
        first = self.left + 16
        step = (self.width - 32) / len(block.legs)
        self.set_draw_color(*TEAL)
        self.set_line_width(1.1)
        self.line(first, y, first + step * len(block.legs), y)
        legs = [Cell(leg, first + step * number, step, "C", 8.2, colour=GREY) for number, leg in enumerate(block.legs)]
        self.line_of_cells(y - 6, 4, legs)
        stops: list[Cell] = []
        self.set_fill_color(*WHITE)
        for number, stop in enumerate(block.stops):
            x = first + step * number
            self.circle(x, y, 1.9, style="DF")
            stops.append(Cell(stop, x - 16, 32, "C", 9.5, bold=True, colour=NAVY))
        self.line_of_cells(y + 3.4, 5, stops)
        self.set_y(y + 9.5)

    def columns(self, block: Columns) -> None:
        left, width, top = self.left, self.width, self.get_y()
        self.width = (width - GUTTER) / 2
        self.in_column = True
        ends: list[float] = []
        for number, blocks in enumerate((block.left, block.right)):
            self.left = left + number * (self.width + GUTTER)
            self.set_y(top)
            for part in blocks:
                self.block(part)
            ends.append(self.get_y())
        self.left, self.width, self.in_column = left, width, False
        self.set_y(max(ends))


def build() -> Handbook:
    handbook = Handbook()
    handbook.cover()
    for chapters in PAGES:
        handbook.page_of(chapters)
    return handbook


def main(arguments: Sequence[str]) -> None:
    target = Path(arguments[0]) if arguments else Path(__file__).with_name("handbook.pdf")
    target.write_bytes(build().output())
    print(f"{target}: {len(PAGES) + 1} pages, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
