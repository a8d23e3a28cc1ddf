"""What the columns of a table of events are usually called, so that nobody has to name `user_id` and `movieId`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PLAIN = {  # the first of these that a table has is taken
    "user": ("user", "userid", "uid"),
    "item": ("item", "itemid", "iid"),
    "weight": ("weight", "count", "playcount", "quantity"),
    "rating": ("rating", "stars"),
    "time": ("timestamp", "time", "datetime", "date"),
}
OTHER = {  # of these a table may have one, otherwise it has to be named
    "user": (
        *("username", "customer", "customerid", "client", "clientid", "member", "memberid", "visitor", "visitorid"),
        *("account", "accountid", "person", "personid", "reader", "readerid", "reviewer", "reviewerid", "listener"),
        *("listenerid", "player", "playerid", "subscriber", "subscriberid", "session", "sessionid"),
    ),
    "item": (
        *("itemname", "product", "productid", "stockcode", "sku", "asin", "isbn", "movie", "movieid", "film", "filmid"),
        *("track", "trackid", "song", "songid", "artist", "artistid", "album", "albumid", "book", "bookid", "article"),
        *("articleid", "video", "videoid", "game", "gameid", "content", "contentid", "business", "businessid"),
        *("news", "newsid", "anime", "animeid", "app", "appid", "recipe", "recipeid"),
    ),
    "weight": ("weights", "counts", "cnt", "plays", "qty", "freq", "frequency", "clicks", "views", "strength"),
    "rating": ("ratings", "star", "score", "overall", "reviewoverall", "bookrating"),
    "time": ("ts", "times", "unixtime", "epoch", "eventtime", "unixreviewtime", "createdat", "timestampms"),
}


def find_role(names: Iterable[Any], role: str) -> list[Any]:
    """Return the columns that may play a role: one where it is clear, none, or several between which to choose.

    >>> find_role(["User_ID", "movieId", "rating"], "user"), find_role(["artist", "track"], "item")
    (['User_ID'], ['artist', 'track'])
    """
    spelled = [(_plain(name), name) for name in names if isinstance(name, str)]
    for usual in PLAIN[role]:
        found = [name for spelling, name in spelled if spelling == usual]
        if found:
            return found
    return [name for spelling, name in spelled if spelling in OTHER[role]]


def looks_like_events(names: Iterable[Any]) -> bool:
    """Whether columns of these names are a user and an item: a list of events, not a matrix.

    >>> looks_like_events(["userId", "movieId", "rating"]), looks_like_events(["age", "height"])
    (True, False)
    """
    listed = list(names)
    return bool(find_role(listed, "user") and find_role(listed, "item"))


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
