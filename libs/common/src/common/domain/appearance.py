"""The look of pages and messages outside of the portal, which is that of the portal."""

from string import Template
from typing import Final

#: By the name of its token in the portal's style sheet: the colour on light and on dark ground.
COLOURS: Final = {
    "ground": ("#f6f7f9", "#0e131b"),
    "card": ("#ffffff", "#171e29"),
    "sunken": ("#eef0f4", "#202937"),
    "line": ("#d8dce3", "#2e3949"),
    "text": ("#16202e", "#e8ecf2"),
    "muted": ("#535e6f", "#a5b0c0"),
    "link": ("#1d4ed8", "#8fb4ff"),
    "accent": ("#1d4ed8", "#8fb4ff"),
    "on-accent": ("#ffffff", "#0b1524"),
    "good": ("#146c3a", "#7bdca0"),
    "good-ground": ("#ddf3e4", "#123523"),
    "bad": ("#a61b1b", "#ff9d94"),
    "bad-ground": ("#fbe3e1", "#43191a"),
    "wait": ("#7a4b00", "#f2c46d"),
    "wait-ground": ("#fbedcf", "#3a2a0c"),
}

_SHAPES: Final = (
    "body{margin:0;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif}"
    ".top{padding:16px 24px;font-weight:bold}.top i{display:inline-block;width:8px;height:12px;"
    "margin-right:2px;border-radius:2px}.top i+i{height:18px;margin-right:10px}"
    "main{display:block;max-width:44rem;margin:0 auto;padding:24px 16px 40px}"
    "h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px}"
    "p,ul{margin:0 0 12px}ul{padding-left:1.25rem}p,li,td{overflow-wrap:anywhere}"
    ".card{border-radius:12px;padding:16px 20px;margin:0 0 12px}"
    ".hint{font-size:14px;margin:0 0 8px}"
    ".head{margin:0 0 2px;font-weight:bold}"
    ".state{display:inline-block;padding:2px 10px;border-radius:99px;font-size:12px;"
    "font-weight:bold;margin-left:6px}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:6px 12px 6px 0;font-size:14px}"
    "th{width:32%;font-weight:normal}form{margin:0 0 12px}p .old{text-decoration:line-through}"
    "button{font:inherit;font-weight:bold;min-height:44px;padding:8px 18px;border:0;"
    "border-radius:10px;cursor:pointer}button:focus-visible,a:focus-visible{outline-offset:2px}"
)
_COLOURED: Final = Template(
    "body{background:$ground;color:$text}a{color:$link}.hint,th,.foot{color:$muted}"
    ".top{background:$card;border-bottom:1px solid $line}.top i{background:$accent}"
    ".card{background:$card;border:1px solid $line}th,td{border-top:1px solid $line}"
    "p .old{color:$muted}"
    ".state{background:$sunken;color:$muted}.state-good{background:$good_ground;color:$good}"
    ".state-bad{background:$bad_ground;color:$bad}.state-wait{background:$wait_ground;color:$wait}"
    "button{background:$accent;color:$on_accent}"
    "button:focus-visible,a:focus-visible{outline:3px solid $accent}"
)


def _coloured(is_dark: bool) -> str:  # noqa: FBT001 (one of two)
    named = {name.replace("-", "_"): pair[is_dark] for name, pair in COLOURS.items()}
    return _COLOURED.substitute(named)


#: Mail programs know no variables, so that each colour stands where it is used.
STYLE: Final = (
    f":root{{color-scheme:light dark}}{_SHAPES}{_coloured(False)}"  # noqa: FBT003
    f"@media (prefers-color-scheme:dark){{{_coloured(True)}}}"  # noqa: FBT003
)


def document(title: str, body: str, *, head: str = "") -> str:
    """Returns a whole document, of a title and a body in HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">{head}'
        f"<title>{title}</title><style>{STYLE}</style></head>"
        '<body><div class="top"><i></i><i></i>Company Registry</div>'
        f"<main>{body}</main></body></html>"
    )
