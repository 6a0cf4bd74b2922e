"""The door for people: front page, side bar and error pages of the admin, above the admin modules of the apps."""
