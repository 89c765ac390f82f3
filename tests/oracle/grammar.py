"""Draws a program: how its attention stands in the file, how the factor is spelled, and where and how often it is applied."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from . import mechanisms  # noqa: F401 (registers the rows)
from .draft import HEAD, HEADS, MODEL, REGISTRY, Draft, Entry, Factor, Lines, NumPy, Parameter, Torch, block

SOFTMAX = [
    "def softmax(x):",
    "    e = np.exp(x - x.max(axis=-1, keepdims=True))",
    "    return e / e.sum(axis=-1, keepdims=True)",
]
APPLIES = [one for one in REGISTRY if one.effect == "once"]
DECOYS = [one for one in REGISTRY if one.effect == "none"]
PARTIAL = [one for one in REGISTRY if one.effect == "some"]


@dataclass(frozen=True)
class Program:
    """A program, and how it is run. `files` has `model.py`, which holds the attention, and the modules beside it.

    `entry` is "function" (called with the arrays `x`, `w_q`, `w_k`, `w_v` of the module) or "class" (made with width and heads, called
    with an input). `parameters` and `constructor` are what runs set.
    """

    files: dict[str, str]
    entry: str
    name: str
    heads: int
    backend: str
    plan: str
    mechanisms: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    constructor: tuple[Parameter, ...]

    @property
    def text(self) -> str:
        return self.files["model.py"]


def draw(rng: random.Random, backend: str = "numpy", only: str | None = None, meant: bool = True) -> Program:
    """A program of the grammar; the same state of `rng` gives the same one.

    `only` names the one mechanism that it has; then `meant` says whether it is meant to be right.
    """
    return Drawing(rng, NumPy() if backend == "numpy" else Torch(), only, meant).program()


def names(backend: str = "numpy") -> list[str]:
    """Every mechanism, by page and name."""
    return [one.key for one in REGISTRY if one.only in (None, backend)]


class Drawing:
    """The choices of one program."""

    def __init__(self, rng: random.Random, dialect: NumPy | Torch, only: str | None = None, meant: bool = True) -> None:
        self.rng = rng
        self.meant = meant
        self.only = next((one for one in REGISTRY if one.key == only), None)
        in_class = rng.random() < (0.55 if dialect.name == "numpy" else 0.85)
        heads = in_class and rng.random() < 0.6
        self.draft = Draft(rng, dialect, in_class, heads)
        self.draft.taken |= {
            "q",
            "k",
            "v",
            "x",
            "w_q",
            "w_k",
            "w_v",
            "logits",
            "weights",
            "softmax",
            "self",
            "t",
            "c",
            "b",
            "n",
            "one",
            "i",
            "a",
        }
        self.product_operands = ("q", "k")

    # ---- the factor

    def width(self) -> str:
        """An expression for the head's width in the body."""
        d, rng = self.draft, self.rng
        forms = ["q.shape[-1]", "k.shape[-1]"]
        if d.dialect.name == "torch":
            forms += ["q.size(-1)", "k.size(-1)"]
        if d.in_class:
            forms = ["self.head_dim", "self.head_dim", *forms]
        else:
            forms += ["w_q.shape[1]", "w_k.shape[-1]"]
        return rng.choice(forms)

    def root_of(self, width: str, kind: str, module_level: bool = False) -> Factor:
        """Spells a power of a width."""
        d, rng = self.draft, self.rng
        sqrt = d.dialect.sqrt(rng, width)
        if "math." in sqrt:
            d.need("import math")
        if kind == "quarter":
            return rng.choice([Factor(f"{width} ** -0.25"), Factor(f"{width} ** 0.25", divides=True)])
        if kind == "unrooted":
            return rng.choice([Factor(width, divides=True), Factor(f"1.0 / {width}")])
        if kind == "inverted":
            return rng.choice([Factor(sqrt), Factor(f"{width} ** 0.5")])
        return rng.choice(
            [Factor(f"{width} ** -0.5"), Factor(sqrt, divides=True), Factor(f"1.0 / {sqrt}"), Factor(f"{width} ** 0.5", divides=True)]
        )

    def factor(self, kind: str, inline_only: bool = False) -> tuple[Lines, Factor]:
        """Lines that make the factor, and the factor as the body then has it."""
        d, rng = self.draft, self.rng
        width = self.width()
        if kind == "model":
            width = "self.d_model" if d.in_class else "x.shape[-1]"
        if kind == "length":
            width = "q.shape[-2]"
        made = self.root_of(width, kind)
        atom = Factor(f"({made.text})", made.divides) if " " in made.text else made
        if inline_only:
            return [], atom
        if self.only:
            return [], atom
        form = rng.choice(["inline", "inline", "local", "local", "init", "init", "constant", "class", "property", "function", "argument"])
        if form == "local":
            name = d.name(*(["root", "denominator"] if made.divides else ["scale", "scaling", "factor"]))
            return [f"{name} = {made.text}"], Factor(name, made.divides)
        if form in ("init", "property") and d.in_class and kind != "length":
            made = self.root_of("self.d_model" if kind == "model" else "self.head_dim", kind)
            name = d.name(*(["root"] if made.divides else ["scale", "scaling", "softmax_scale"]))
            if form == "init":
                d.init.append(f"self.{name} = {made.text}")
            else:
                d.methods.append(["@property", *block(f"def {name}(self):", [f"return {made.text}"])])
            return [], Factor(f"self.{name}", made.divides)
        if form == "function":
            name = d.name("scale_of", "get_scale")
            value = self.root_of("width", kind if kind not in ("model", "length") else "root")
            d.helper_somewhere(name, block(f"def {name}(width):", [f"return {value.text}"]))
            return [], Factor(f"{name}({width})", value.divides)
        if form == "argument" and not d.in_class and kind not in ("length", "model"):
            d.need("import math")
            name = d.name("scale", "softmax_scale")
            d.parameters.append(Parameter(name, "None", ("default",)))
            return block(f"if {name} is None:", [f"{name} = {Factor(made.text, made.divides).multiplier}"]), Factor(name)
        return [], atom

    # ---- how it is applied

    def pick(self, entries: list[Entry], nested: bool) -> Entry:
        if self.only:
            return self.only if self.only in entries else entries[0]
        fitting = [one for one in entries if (one.nested or not nested) and one.only in (None, self.draft.dialect.name)]
        if self.rng.random() < 0.25:
            return fitting[0]
        pages = sorted({one.page for one in fitting})
        page = self.rng.choice(pages)
        return self.rng.choice([one for one in fitting if one.page == page])

    def write(self, entries: list[Entry], z: str, f: Factor, depth: int = 0) -> Lines:
        """The lines of a drawn mechanism, perhaps inside of another block."""
        d, rng = self.draft, self.rng
        wrap = rng.random() if depth < 2 and not self.only else 1.0
        if wrap < 0.04:
            flag = d.flag()
            return [*block(f"if {flag}:", self.write(entries, z, f, depth + 1)), *block("else:", self.write(entries, z, f, depth + 1))]
        if wrap < 0.06:
            return [*block("try:", self.write(entries, z, f, depth + 1)), *block("except ZeroDivisionError:", ["raise"])]
        if wrap < 0.08:
            return block("for _ in range(1):", self.write(entries, z, f, depth + 1))
        if wrap < 0.10:
            fn = d.name("inner", "step")
            inner = self.write(entries, z, f, depth + 2)
            if not any("nonlocal" in row or ":=" in row for row in inner):
                d.mechanisms.append("inside of a function")
                return [*block(f"def {fn}({z}):", [*inner, f"return {z}"]), f"{z} = {fn}({z})"]
            return inner
        entry = self.pick(entries, nested=depth > 0)
        d.condition = None
        lines = entry.write(d, z, f)
        d.mechanisms.append(entry.key)
        return lines

    def once(self, kind: str, stage: str) -> Lines:
        lines, f = self.factor(kind)
        return [*lines, *self.write(APPLIES, stage, f)]

    # ---- the plans: what is meant; what is right is measured

    def stages(self) -> tuple[str, dict[str, Lines]]:
        """What is drawn for q and k before their product, and for the logits after it."""
        rng = self.rng
        stage = rng.choice(["logits", "q", "k"])
        parts: dict[str, Lines] = {"q": [], "k": [], "logits": []}
        plan = rng.choices(
            ["once", "quarter", "complement", "missing", "wrong factor", "twice", "partial"], weights=[40, 6, 9, 16, 13, 7, 9]
        )[0]
        if self.only:
            right, wrong = {
                "once": ("once", rng.choice(["wrong factor", "twice"])),
                "none": ("decoy", "missing"),
                "some": ("complement", "partial"),
            }[self.only.effect]
            plan = right if self.meant else wrong
        if plan == "once":
            parts[stage] += self.once("root", stage)
        elif plan == "quarter":
            parts["q"] += self.once("quarter", "q")
            parts["k"] += self.once("quarter", "k")
        elif plan in ("complement", "partial"):
            lines, f = self.factor("root")
            early = rng.choice(["q", "k"])
            parts[early] += [*lines, *self.write(PARTIAL, early, f, depth=2)]
            condition = self.draft.condition
            if plan == "complement" and condition:
                late = rng.choice([early, "logits", "k"])
                _, f = self.factor("root", inline_only=True)
                parts[late] += block(f"if {_negated(condition)}:", self.write(APPLIES, late, f, depth=2))
        elif plan == "decoy":
            _, f = self.factor("root")
            parts[stage] += self.write(DECOYS, stage, f)
            parts["logits"] += [self.draft.apply("logits", self.factor("root")[1])]
        elif plan == "missing":
            if self.only or rng.random() < 0.8:
                lines, f = self.factor("root")
                parts[stage] += [*lines, *self.write(DECOYS, stage, f)]
        elif plan == "wrong factor":
            kinds = ["unrooted", "inverted", "length"] + (["model"] if self.draft.multi_head or not self.draft.in_class else [])
            parts[stage] += self.once(rng.choice(kinds), stage)
        elif plan == "twice":
            parts[stage] += self.once("root", stage)
            other = rng.choice(["q", "k", "logits"])
            parts[other] += [self.draft.apply(other, self.factor("root")[1])] if self.only else self.once("root", other)
        if plan in ("once", "quarter", "twice") and not self.only and rng.random() < 0.3:
            decoy = rng.choice(["q", "k", "logits"])
            lines, f = self.factor("root")
            parts[decoy] += [*lines, *self.write(DECOYS, decoy, f)]
        return plan, parts

    # ---- where it stands

    def product(self) -> Lines:
        d, rng = self.draft, self.rng
        k = d.dialect.transposed(rng, "k")
        forms = [f"q @ {k}", f"q @ {k}", f"{d.dialect.module}.matmul(q, {k})"]
        if d.multi_head:
            forms.append(f'{d.dialect.module}.einsum("bhqd,bhkd->bhqk", q, k)')
        elif d.in_class:
            forms.append(f'{d.dialect.module}.einsum("bqd,bkd->bqk", q, k)')
        else:
            forms.append(f'{d.dialect.module}.einsum("qd,kd->qk", q, k)')
            if d.dialect.name == "numpy":
                forms += ["q @ k.T", "np.dot(q, k.T)", "q.dot(k.T)"]
        return [f"logits = {rng.choice(forms)}"]

    def others(self, at: str) -> Lines:
        """Further results, which a fix of the scale must leave alone."""
        d, rng = self.draft, self.rng
        if rng.random() > 0.12 or self.only:
            return []
        name = d.name("gate", "norm", "stat")
        d.extras.append(name)
        return [f"{name} = {at}.{rng.choice(['mean', 'sum', 'max'])}()"]

    def program(self) -> Program:
        d, rng = self.draft, self.rng
        plan, parts = self.stages()
        seen = self.others(rng.choice(["q", "k", "v"]))
        body = [*parts["q"], *parts["k"], *seen, *self.product(), *parts["logits"]]
        out = d.dialect.softmax.format("logits")
        result = "weights @ v" if not d.extras else f"weights @ v, {', '.join(d.extras)}"
        body += [f"weights = {out}", f"return {result}"]
        text = self.in_class(body) if d.in_class else self.as_function(body)
        files = {"model.py": text}
        for module, parts_of_it in d.other.items():
            files[f"{module}.py"] = _joined(
                [["import math"], d.dialect.imports[:1], *[one for one in parts_of_it if not one[0].startswith("import ")]]
            )
        return Program(
            files,
            "class" if d.in_class else "function",
            self.class_name if d.in_class else "attend",
            HEADS if d.multi_head else 1,
            d.dialect.name,
            plan,
            tuple(dict.fromkeys(d.mechanisms)),
            tuple(d.parameters),
            tuple(d.constructor),
        )

    class_name = "SelfAttention"

    def head(self) -> Lines:
        d = self.draft
        future = [line for line in d.imports if line.startswith(("import ", "from "))]
        standard = sorted(line for line in future if line.split()[1].split(".")[0] in STANDARD)
        local = sorted(line for line in future if line not in standard)
        return [*standard, *([""] if standard else []), *d.dialect.imports, *([""] if local else []), *local]

    def signature(self, first: str) -> str:
        return ", ".join([first, *(f"{one.name}={one.default}" for one in self.draft.parameters)])

    def as_function(self, body: Lines) -> str:
        d = self.draft
        making = ["q = x @ w_q", "k = x @ w_k", "v = x @ w_v"]
        define = block(f"def attend({self.signature('x, w_q, w_k, w_v')}):", [*making, *body])
        if d.dialect.name == "numpy":
            arrays = ["rng = np.random.default_rng(0)", f"x = rng.standard_normal((5, {MODEL}))"]
            arrays += [f"{w} = rng.standard_normal(({MODEL}, {HEAD}))" for w in ("w_q", "w_k", "w_v")]
        else:
            arrays = [
                "torch.manual_seed(0)",
                f"x = torch.randn(5, {MODEL})",
                *(f"{w} = torch.randn({MODEL}, {HEAD})" for w in ("w_q", "w_k", "w_v")),
            ]
        arrays += ["attend(x, w_q, w_k, w_v)"]
        return _joined([self.head(), *([SOFTMAX] if d.dialect.name == "numpy" else []), *d.helpers, [*d.decorators, *define], arrays])

    def in_class(self, body: Lines) -> str:
        d = self.draft
        torch = d.dialect.name == "torch"
        bases = [name for name, _ in d.bases] + (["nn.Module"] if torch else [])
        definitions = [block(f"class {name}:", _rows(methods)) for name, methods in d.bases]
        init = ["super().__init__()"] if torch else []
        init += ["self.d_model = d_model"]
        if d.multi_head:
            init += ["self.n_heads = n_heads", "self.head_dim = d_model // n_heads"]
        else:
            init += ["self.head_dim = head_dim"]
        width = "d_model" if d.multi_head else "head_dim"
        for w in ("w_q", "w_k", "w_v"):
            init.append(f"self.{w} = nn.Linear(d_model, {width}, bias=False)" if torch else f"self.{w} = np.random.randn(d_model, {width})")
        init += d.init
        methods = [block(f"def __init__(self, d_model, {'n_heads' if d.multi_head else 'head_dim'}):", init)]
        if d.multi_head:
            axes = "1, 2" if torch else "0, 2, 1, 3"
            methods.append(
                block(
                    "def split_heads(self, t):",
                    ["b, n, _ = t.shape", f"return t.reshape(b, n, self.n_heads, self.head_dim).transpose({axes})"],
                )
            )
        made = {w: f"self.w_{w}(x)" if torch else f"x @ self.w_{w}" for w in "qkv"}
        making = [f"{w} = self.split_heads({made[w]})" if d.multi_head else f"{w} = {made[w]}" for w in "qkv"]
        methods += d.methods
        run = "forward" if torch else "__call__"
        methods.append([*d.decorators, *block(f"def {run}({self.signature('self, x')}):", [*making, *body])])
        name = self.class_name + (f"({', '.join(bases)})" if bases else "")
        define = block(f"class {name}:", [*d.class_body, *_rows(methods)])
        return _joined([self.head(), *([] if torch else [SOFTMAX]), *d.helpers, *definitions, define])


def _negated(condition: str) -> str:
    if condition.startswith("not "):
        return condition[4:]
    return f"not {condition}" if condition.isidentifier() else f"not ({condition})"


STANDARD = {"math", "functools", "contextlib", "operator", "types", "dataclasses", "itertools"}


def _rows(methods: list[Lines]) -> Lines:
    rows: Lines = []
    for method in methods:
        rows += ([""] if rows else []) + method
    return rows


def _joined(parts: list[Lines]) -> str:
    return "\n\n\n".join("\n".join(part) for part in parts if part) + "\n"


Generator = Callable[[random.Random], Program]
