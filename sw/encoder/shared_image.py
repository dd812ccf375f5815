"""External memory that several cores read."""
from systolith.hw.config import Config
from systolith.sw.compiler.allocate import Buffer
from systolith.sw.compiler.image import Image, Place


class SharedImage(Image):
    """An image in external memory in which data of one name are written once.

    Parameters
    ----------
    config : Config
    """

    def __init__(self, config: Config):
        super().__init__(config)
        self._written: dict[str, Place] = {}

    def write(self, name: str, buffer: Buffer, data: bytes) -> Place:
        if name not in self._written:
            self._written[name] = super().write(name, buffer, data)
        return self._written[name]
