"""What one request may ask for, and how long it may take. Whatever is beyond is refused with a sentence."""

BODY_BYTES = 256 * 1024
HEADER_BYTES = 16 * 1024
LIST_LENGTH = 1000  # items of one list
RANKED = 5000  # offset + n: how far one ranking can be paged through
EXPLAINED = 50  # items of a list with reasons
REASONS = 3  # of every item
EVENTS = 2000  # items that describe somebody
FILTERED = 10_000  # ids of an exclude or allow list
CANDIDATES = 1000  # items to score for one user
BATCH = 256  # questions of one request
FOUND = 100  # items of a search
SEARCH_LETTERS = 200
ID_LETTERS = 512
WEIGHT = 1e6
ROWS = 64  # rows to predict labels for
CELLS = 1000  # entries of a matrix to complete
FEATURES = 20_000

WAITING = 1024  # questions in the queue: about a second of work
AT_ONCE = 64  # questions of one batch
CONNECTIONS = 4096  # of one worker
ARRIVAL_SECONDS = 10.0  # for a request to arrive whole
ANSWER_SECONDS = 60.0  # for its answer to be made and taken
IDLE_SECONDS = 75.0  # of a connection between two requests: longer than the usual proxies wait
QUIET_SECONDS = 4.0  # that a quiet connection has to send something when a worker leaves
DRAIN_SECONDS = 15.0  # for a worker that leaves to finish what it has
