"""What went wrong out there, named by what to do next."""


class BackendError(Exception):
    """A backend did not do what was asked; the text is in the backend's own words."""


class Transient(BackendError):
    """It may work the next time: try again, later each time."""


class Gone(BackendError):
    """The object or principal is not there any more: observe again."""


class Rejected(BackendError):
    """It will never work as it is: park it and show it to the owner."""


class Misconfigured(BackendError):
    """Nothing will work until the connection is mended: pause the backend, raise one alert."""
