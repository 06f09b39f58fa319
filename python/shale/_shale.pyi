"""The extension module, on which the Python classes of this package are built."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

version: str

class Value:
    """A value that is read piece by piece."""

    def read(self, begin: int, count: int) -> bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def place(self) -> Tuple[int, int]: ...

class Reader:
    """Samples of a dataset as dictionaries. Thread-safe, reopens its files after a fork."""

    def __init__(
        self,
        words: Sequence[bytes],
        index_folder: bytes,
        cache: str,
        verify: Optional[bool],
        parse: Optional[str],
        database: Optional[str],
        opened_before: str,
        on: Optional[str] = None,
        partners: Optional[str] = None,
        axis: Optional[str] = None,
        raw: Optional[str] = None,
        raw_offset: Optional[int] = None,
    ) -> None: ...
    def select(self, names: Sequence[str], decodings: Sequence[str]) -> None: ...
    def sharing(self) -> Reader: ...
    def read(self, rows: Sequence[int], into: Optional[Dict[str, List[Any]]] = None) -> List[Dict[str, Any]]: ...
    def values(self, rows: Sequence[int], field: str) -> List[Optional[Value]]: ...
    def counts(self, rows: Sequence[int], field: str) -> List[Optional[int]]: ...
    def elements(self, requests: Sequence[Tuple[int, str, Sequence[int]]]) -> List[List[bytes]]: ...
    def find(self, key: bytes) -> Optional[int]: ...
    def column(self, name: str) -> Any: ...  # numpy array of len(self) elements
    def key(self, row: int) -> str: ...
    def shard_name(self, row: int) -> str: ...
    def __len__(self) -> int: ...
    @property
    def schema(self) -> List[Dict[str, Any]]: ...
    @property
    def types(self) -> List[str]: ...
    @property
    def classes(self) -> List[str]: ...
    @property
    def format(self) -> str: ...
    @property
    def file(self) -> bytes: ...  # the one file of another tool, or nothing
    @property
    def self_hash(self) -> str: ...

class KeyMap:
    """A sorted map of keys to values in a file, at one moment: what shale.lmdb reads."""

    def renewed(self) -> KeyMap: ...
    def facts(self) -> Dict[str, Any]: ...
    def find(self, key: Any) -> Any: ...
    def cursor(self) -> KeyCursor: ...

class KeyCursor:
    """A place in a map. Moves return whether they found an entry."""

    def first(self) -> bool: ...
    def last(self) -> bool: ...
    def next(self) -> bool: ...
    def prev(self) -> bool: ...
    def seek(self, key: Any) -> bool: ...
    def seek_range(self, key: Any) -> bool: ...
    def key(self) -> bytes: ...
    def value(self) -> bytes: ...
    def item(self) -> Tuple[bytes, bytes]: ...
    def is_database(self) -> bool: ...

class SampleWriter:
    """What shale.Writer writes with. `words`: the command line of a conversion into the same output; its input is not read."""

    def __init__(self, words: List[bytes], resumes: bool) -> None: ...
    @property
    def appended_to(self) -> Optional[Tuple[Dict[str, Dict[str, Any]], bool, List[bytes]]]:
        """Of the dataset that the samples come behind, before begin(): fields, whether samples have keys, names of the classes."""

    @property
    def resumed(self) -> int: ...
    @property
    def is_complete(self) -> bool: ...
    def begin(
        self, fields: Dict[str, Dict[str, Any]], has_keys: bool, classes: List[bytes], labels: Optional[Dict[str, int]]
    ) -> None:
        """`fields`: by name, as Reader.schema has them."""
    def write(self, sample: Any) -> None: ...
    def close(self) -> str:
        """What ``convert --json`` prints of the same dataset."""
    def abandon(self) -> None: ...
    @property
    def samples(self) -> int: ...

def field_of_type(text: str) -> Dict[str, Any]:
    """Of "float32 (?, 4)" and the like, as Reader.schema has it. Errors: UsageError."""

def field_of_array(dtype: str, shape: Tuple[Optional[int], ...]) -> Dict[str, Any]:
    """Of arrays of this dtype, as numpy writes it: without sides a number, if there is a kind for it."""

class Views:
    """Views of images: decoded, cropped, scaled, turned over and looked up, straight into a batch. Immutable: threads may share it.

    `steps`: tuples, each the name of a step and all of its arguments::

        ("random_resized_crop", width, height, scale_low, scale_high, ratio_low, ratio_high)
        ("resize_shorter", shorter, longest)         longest 0: any; shorter 0: the longer side becomes `longest`
        ("resize", width, height)
        ("center_crop", width, height)
        ("random_crop", width, height, left, top, right, bottom, pads_if_needed)
        ("flip", is_horizontal, probability)

    `kernel`: "nearest", "triangle" (antialiased bilinear) or "cubic" (antialiased bicubic). `channels`: 3, RGB, or 1, gray; `gray`: three
    equal channels.
    `table`: 256 elements of `item_bytes` (1, 2 or 4) for each channel, what each level becomes; None: levels as they are.
    `fill`: one element per channel, for padding. `values`: masks, the nearest values as the file stores them; one channel.
    Errors: UsageError.
    """

    def __init__(
        self,
        steps: List[Tuple[Any, ...]],
        *,
        kernel: str,
        channels: int,
        order: str,
        table: Optional[bytes],
        item_bytes: int,
        fill: bytes,
        scaled_decoding: bool,
        values: bool = False,
        gray: bool = False,
    ) -> None: ...
    @property
    def taken(self) -> int:
        """How many of the steps, from the first on, make one view; the others are not done here."""

    def draw(self, width: int, height: int, seed: int) -> Tuple[int, ...]:
        """The view of an image of that size: box x, y, width, height; what the box is scaled to, width, height; the window of that
        which is the result, x, y, width, height (it may reach beyond); what of it is visible, x, y, width, height, the rest being
        padding; whether the result is then mirrored, and upside down."""

    def sizes(self, images: List[Optional[bytes]], seeds: Sequence[int]) -> List[Optional[Tuple[int, ...]]]:
        """A drawn view for each image, by its header; None for one whose header does not say how large it is.

        Errors: ContentError for a random crop that is larger than the image; `sample` is its place in `images`."""

    def load(self, images: List[Optional[bytes]], drawn: List[Optional[Tuple[int, ...]]], into: Any) -> List[Optional[str]]:
        """Decodes into memory of the caller: one contiguous array for all, or a list of one for each (None where `drawn` is None).

        None for an image that is done, else why it was not: it is damaged, or of a kind that only Pillow decodes. Its place then has any
        content. Errors: UsageError for memory of another size and for a view that is none of its image."""

def epoch_key(seed: int, epoch: int) -> int: ...
def random_rows(samples: int, key: int, begin: int, count: int, step: int) -> Any:
    """Positions begin, begin + step ... of the order "random": numpy array int64."""

def block_rows(samples: int, block: int, lanes: int, key: int, begin: int, count: int) -> Any:
    """Positions of the order "block": numpy array int64 (count, 4) of row, lane, first row and number of rows of the run."""

def open_map(path: bytes, is_sparse: bool) -> KeyMap: ...
def decode_rgb8(data: bytes, order: str) -> Any: ...
def file_splits(path: bytes) -> List[Tuple[str, bytes]]:
    """Of a folder of files of other tools that are of several splits: the name of each, and the word that stands for its files."""

def io_backend() -> str:
    """How batches are read on this machine: ``"io_uring"`` or ``"threads"``."""

def parse_size(text: str, what: str) -> int: ...
def usable_cpus() -> int:
    """The CPUs that this job may use, by SLURM, its affinity and its cgroup."""

def options(command: str) -> List[Tuple[str, str, str]]:
    """The options of a command of the program that functions have: name, argument, what the help calls its value."""

def run(words: List[bytes], progress: Optional[Callable[[int, int], Any]]) -> Tuple[str, List[str]]:
    """Runs a command line of the program in this process. The result: what it prints with ``--json``, and the notes."""

def report(words: List[bytes], progress: Optional[Callable[[int, int], Any]]) -> Tuple[str, List[str], bytes]:
    """The same for ``report``, whose page is the third."""

def save_report(words: List[bytes], page: bytes) -> None: ...
