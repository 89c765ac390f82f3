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
RESERVED = {
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
    "a",
    "b",
    "c",
    "i",
    "n",
    "t",
    "u",
    "one",
    "name",
}
APPLIES = [one for one in REGISTRY if one.effect == "once"]
DECOYS = [one for one in REGISTRY if one.effect == "none"]
PARTIAL = sorted((one for one in REGISTRY if one.effect == "some"), key=lambda one: one.name != "one branch")  # the plainest first
PAIRS = [one for one in REGISTRY if one.effect == "pair"]


@dataclass(frozen=True)
class Program:
    """A program, and how it is run. `files` has `model.py`, which holds the attention, and the modules beside it.

    `entry` is "function" (called with the arrays `x`, `w_q`, `w_k`, `w_v` of the module), "class" (made with width and heads, called
    with an input) or "config" (made with one object that holds them). `parameters` is what runs set.
    """

    files: dict[str, str]
    entry: str
    name: str
    heads: int
    backend: str
    plan: str
    mechanisms: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    packed: bool = False  # q, k and v are made by one weight

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
        self.handed: dict[str, str] = {}  # what the class hands to a function that holds its attention
        self.draft.taken |= RESERVED
        plain = self.only is not None  # one mechanism in the plainest surroundings
        self.apart = in_class and not plain and rng.random() < 0.2  # the attention is a function that the class calls
        self.config = in_class and not plain and rng.random() < 0.15
        self.packed = in_class and not plain and rng.random() < 0.2
        self.heads_last = heads and not plain and rng.random() < 0.12  # (b, n, heads, head_dim), by einsum
        self.kernel = dialect.name == "torch" and not plain and not self.heads_last and rng.random() < 0.12
        alone = self.apart or self.heads_last or self.kernel or plain
        self.one_head_at_a_time = heads and not alone and rng.random() < 0.1
        self.early = not plain and not self.one_head_at_a_time and rng.random() < 0.07
        self.mask = not plain and rng.random() < 0.15
        if self.apart:
            self.draft.in_class = False
        if dialect.name == "torch" and not plain:
            forms = ["torch.softmax({0}, dim=-1)", "F.softmax({0}, dim=-1)", "{0}.softmax(dim=-1)", "nn.Softmax(dim=-1)({0})"]
            self.softmax = rng.choice(forms)
        else:
            self.softmax = dialect.softmax
        if "F." in self.softmax or self.kernel:
            self.draft.need("import torch.nn.functional as F")

    # ---- the factor

    def width(self) -> str:
        """An expression for the head's width in the body."""
        d, rng = self.draft, self.rng
        forms = ["q.shape[-1]", "k.shape[-1]"]
        if d.dialect.name == "torch":
            forms += ["q.size(-1)", "k.size(-1)"]
        if d.in_class:
            forms = ["self.head_dim", "self.head_dim", *forms]
        elif not self.apart:
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
            width = "self.d_model" if d.in_class else "(q.shape[-1] * q.shape[1])" if self.apart else "x.shape[-1]"
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
        if form == "argument" and kind not in ("length", "model"):
            d.need("import math")
            name = d.name("scale", "softmax_scale")
            d.parameters.append(Parameter(name, "None", ("default",)))
            return block(f"if {name} is None:", [f"{name} = {Factor(made.text, made.divides).multiplier}"]), Factor(name)
        if form == "constant" and kind in ("root", "quarter"):
            name = d.name("EXPONENT", "POWER")
            d.helper([f"{name} = {-0.5 if kind == 'root' else -0.25}"])
            return [], Factor(f"({width} ** {name})")
        if form == "class" and self.apart and kind == "root":
            name = d.name("scale", "softmax_scale")
            d.parameters.append(Parameter(name, "", ("default",)))
            self.handed[name] = self.root_of("self.head_dim", kind).multiplier
            return [], Factor(name)
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
        entry = self.pick(entries, nested=depth > 0 or self.one_head_at_a_time)
        d.condition, d.stage = None, z
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
                "pair": ("quarter", "both roots"),
                "once": ("once", rng.choice(["wrong factor", "twice"])),
                "none": ("decoy", "missing"),
                "some": ("complement", "partial"),
            }[self.only.effect]
            plan = right if self.meant else wrong
        if plan == "once":
            parts[stage] += self.once("root", stage)
        elif plan == "quarter":
            if self.only or rng.random() < 0.6:
                lines, f = self.factor("quarter")
                parts["k"] += [*lines, *self.write(PAIRS, "q", f, depth=2)]
            else:
                parts["q"] += self.once("quarter", "q")
                parts["k"] += self.once("quarter", "k")
        elif plan == "both roots":
            lines, f = self.factor("root")
            parts["k"] += [*lines, *self.write(PAIRS, "q", f, depth=2)]
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
        if self.heads_last:
            forms = [f'{d.dialect.module}.einsum("{one}", q, k)' for one in ("bqhd,bkhd->bhqk", "bihd,bjhd->bhij")]
        elif d.multi_head and not self.one_head_at_a_time:
            forms.append(f'{d.dialect.module}.einsum("bhqd,bhkd->bhqk", q, k)')
        elif d.multi_head or self.apart or d.in_class:
            forms.append(f'{d.dialect.module}.einsum("bqd,bkd->bqk", q, k)')
        else:
            forms.append(f'{d.dialect.module}.einsum("qd,kd->qk", q, k)')
            if d.dialect.name == "numpy":
                forms += ["q @ k.T", "np.dot(q, k.T)", "q.dot(k.T)"]
        return [f"logits = {rng.choice(forms)}"]

    def others(self, at: str) -> Lines:
        """Further results, which a fix of the scale must leave alone."""
        d, rng = self.draft, self.rng
        if rng.random() > 0.12 or self.only or self.one_head_at_a_time:
            return []
        if rng.random() < 0.4:
            return [rng.choice([f"print({at}.shape, float({at}.mean()))", f"print(float({at}.sum()))"])]
        name = d.name("gate", "norm", "stat")
        d.extras.append(name)
        return [f"{name} = {at}.{rng.choice(['mean', 'sum', 'max'])}()"]

    def masked(self) -> Lines:
        """A causal mask on the logits, added or filled in after they are scaled."""
        n = self.draft.name("length", "size")
        numpy = self.draft.dialect.name == "numpy"
        made = (
            f"np.triu(np.ones(({n}, {n}), dtype=bool), k=1)" if numpy else f"torch.triu(torch.ones({n}, {n}, dtype=torch.bool), diagonal=1)"
        )
        name = self.draft.name("mask", "future")
        forms = ["logits = {np}.where({m}, {low}, logits)"]
        if numpy:
            forms += ["logits = logits + np.where({m}, -1e9, 0.0)", "logits[..., {m}] = -np.inf"]
        else:
            forms += [
                'logits = logits.masked_fill({m}, float("-inf"))',
                'logits.masked_fill_({m}, float("-inf"))',
                "logits = logits.masked_fill({m}, -1e9)",
            ]
        low = "-np.inf" if numpy else 'float("-inf")'
        form = self.rng.choice(forms).format(np="np" if numpy else "torch", m=name, low=low)
        return [f"{n} = logits.shape[-1]", f"{name} = {made}", form]

    def weighted(self) -> str:
        if self.heads_last:
            return f'{self.draft.dialect.module}.einsum("bhqk,bkhd->bqhd", weights, v)'
        return "weights @ v"

    def ending(self, extras: bool = True) -> Lines:
        result = ", ".join([self.weighted(), *(self.draft.extras if extras else [])])
        return [f"weights = {self.softmax.format('logits')}", f"return {result}"]

    def fused(self) -> tuple[str, Lines]:
        """A kernel that scales by itself, or by what it is told."""
        rng = self.rng
        plan = rng.choice(["kernel", "kernel", "kernel told", "kernel told 1", "scaled before a kernel"])
        handed, parts = "", []
        if plan == "kernel told":
            parts, f = self.factor("root")
            handed = f", scale={f.multiplier}"
        elif plan == "kernel told 1":
            handed, parts = ", scale=1.0", self.once("root", rng.choice(["q", "k"])) if rng.random() < 0.7 else []
        elif plan == "scaled before a kernel":
            parts = self.once("root", rng.choice(["q", "k"]))
        self.draft.extras.clear()
        return plan, [*parts, f"return F.scaled_dot_product_attention(q, k, v{handed})"]

    def body(self) -> tuple[str, Lines]:
        """The plan, and the lines between the making of q, k and v and the end."""
        d, rng = self.draft, self.rng
        early: Lines = []
        if self.early:
            flag, inner = d.flag(), self.product()
            scaled = self.once("root", "logits") if rng.random() < 0.85 else []
            early = block(f"if {flag}:", [*inner, *scaled, *self.ending(extras=False)])
        if self.kernel:
            plan, lines = self.fused()
            return plan, [*early, *lines]
        plan, parts = self.stages()
        seen = self.others(rng.choice(["q", "k", "v"]))
        lines = [*early, *parts["q"], *parts["k"], *seen, *self.product(), *parts["logits"], *(self.masked() if self.mask else [])]
        if self.one_head_at_a_time:
            outs = d.name("outs", "heads")
            each = [f"{w} = {w}s[:, head]" for w in "qkv"]
            inner = [*each, *lines, f"weights = {self.softmax.format('logits')}", f"{outs}.append(weights @ v)"]
            join = f"np.concatenate({outs}, axis=-1)" if d.dialect.name == "numpy" else f"torch.cat({outs}, dim=-1)"
            return plan, [f"{outs} = []", *block("for head in range(self.n_heads):", inner), f"return {join}"]
        return plan, [*lines, *self.ending()]

    def program(self) -> Program:
        d = self.draft
        if not self.only and self.rng.random() < 0.06:
            d.need("import functools")
            name = d.name("traced", "profiled")
            inner = ["@functools.wraps(fn)", *block("def wrapper(*args, **kwargs):", ["return fn(*args, **kwargs)"])]
            d.helper(block(f"def {name}(fn):", [*inner, "return wrapper"]))
            d.decorators.append(f"@{name}")
        plan, body = self.body()
        in_class = d.in_class or self.apart
        text = self.in_class(body) if in_class else self.as_function(body)
        files = {"model.py": text}
        for module, definitions in d.other.items():
            files[f"{module}.py"] = _joined([["import math"], [d.dialect.imports[0]], *definitions])
        return Program(
            files,
            "config" if self.config else "class" if in_class else "function",
            self.class_name if in_class else "attend",
            HEADS if d.multi_head else 1,
            d.dialect.name,
            plan,
            tuple(dict.fromkeys(d.mechanisms)),
            tuple(one for one in d.parameters if one.name not in self.handed),
            self.packed,
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
        if self.only or self.rng.random() < 0.6:
            arrays += self.calls()
        return _joined([self.head(), *([SOFTMAX] if d.dialect.name == "numpy" else []), *d.helpers, [*d.decorators, *define], arrays])

    def calls(self) -> Lines:
        """A call for every setting of the parameters, so that what no caller does is not judged."""
        settings: list[dict[str, object]] = [{}]
        for one in self.draft.parameters:
            settings = [{**setting, one.name: value} for setting in settings for value in one.values]
        texts = [", ".join(f"{key}={value!r}" for key, value in setting.items() if value != "default") for setting in settings]
        return [f"attend(x, w_q, w_k, w_v{', ' + text if text else ''})" for text in dict.fromkeys(texts)]

    def in_class(self, body: Lines) -> str:
        d = self.draft
        torch = d.dialect.name == "torch"
        root = ["nn.Module"] if torch else []
        definitions = [block(f"class {name}:", _rows(methods)) for name, methods in d.bases]
        methods = [self.initialiser()]
        if d.multi_head:
            methods.append(self.splitter())
        methods += d.methods
        parameters = [one for one in d.parameters if one.name not in self.handed]
        run = "forward" if torch else "__call__"
        signature = ", ".join(["self", "x", *(f"{one.name}={one.default}" for one in parameters)])
        making = self.making()
        if self.apart:
            name = d.name("attention", "attend", "dot_product_attention")
            taken = ", ".join(["q", "k", "v", *self.handed, *(f"{one.name}={one.default}" for one in parameters)])
            definitions.append([*d.decorators, *block(f"def {name}({taken}):", body)])
            handed = [*(f"{key}={value}" for key, value in self.handed.items()), *(f"{one.name}={one.name}" for one in parameters)]
            body = [f"return {name}({', '.join(['q', 'k', 'v', *handed])})"]
            methods.append(block(f"def {run}({signature}):", [*making, *body]))
        else:
            methods.append([*d.decorators, *block(f"def {run}({signature}):", [*making, *body])])
        name = "BaseAttention" if d.subclass else self.class_name
        bases = [*(name for name, _ in d.bases), *root]
        define = [block(f"class {name}" + (f"({', '.join(bases)})" if bases else "") + ":", [*d.class_body, *_rows(methods)])]
        if d.subclass:
            define.append(block(f"class {self.class_name}(BaseAttention):", _rows(d.subclass)))
        return _joined([self.head(), *([] if torch else [SOFTMAX]), *d.helpers, *definitions, *define])

    def initialiser(self) -> Lines:
        d = self.draft
        torch = d.dialect.name == "torch"
        init = ["super().__init__()"] if torch else []
        model, width = "d_model", "d_model" if d.multi_head else "head_dim"
        if self.config:
            model, width = "config.hidden_size", "config.hidden_size" if d.multi_head else "config.head_dim"
        init += [f"self.d_model = {model}"]
        if d.multi_head:
            heads = "config.num_heads" if self.config else "n_heads"
            init += [f"self.n_heads = {heads}", f"self.head_dim = {model} // {heads}"]
        else:
            init += [f"self.head_dim = {'config.head_dim' if self.config else 'head_dim'}"]
        for w in ["w_qkv"] if self.packed else ["w_q", "w_k", "w_v"]:
            columns = f"3 * {width}" if self.packed else width
            init.append(
                f"self.{w} = nn.Linear({model}, {columns}, bias=False)" if torch else f"self.{w} = np.random.randn({model}, {columns})"
            )
        arguments = "config" if self.config else f"d_model, {'n_heads' if d.multi_head else 'head_dim'}"
        return block(f"def __init__(self, {arguments}):", [*init, *d.init])

    def splitter(self) -> Lines:
        moved = "" if self.heads_last else ".transpose(1, 2)" if self.draft.dialect.name == "torch" else ".transpose(0, 2, 1, 3)"
        return block("def split_heads(self, t):", ["b, n, _ = t.shape", f"return t.reshape(b, n, self.n_heads, self.head_dim){moved}"])

    def making(self) -> Lines:
        """The lines that make q, k and v."""
        d, rng = self.draft, self.rng
        torch = d.dialect.name == "torch"
        s = "s" if self.one_head_at_a_time else ""
        if not self.packed:
            made = {w: f"self.w_{w}(x)" if torch else f"x @ self.w_{w}" for w in "qkv"}
            return [f"{w}{s} = self.split_heads({made[w]})" if d.multi_head else f"{w}{s} = {made[w]}" for w in "qkv"]
        packed = "self.w_qkv(x)" if torch else "x @ self.w_qkv"
        split = [f"q{s}, k{s}, v{s} = ({packed}).chunk(3, dim=-1)" if torch else f"q{s}, k{s}, v{s} = np.split({packed}, 3, axis=-1)"]
        if not d.multi_head:
            return split
        if self.heads_last or rng.random() < 0.5:
            return [*split, f"q{s}, k{s}, v{s} = " + ", ".join(f"self.split_heads({w}{s})" for w in "qkv")]
        moved = ".permute(2, 0, 3, 1, 4)" if torch else ".transpose(2, 0, 3, 1, 4)"
        lines = ["b, n, _ = x.shape", f"qkv = ({packed}).reshape(b, n, 3, self.n_heads, self.head_dim){moved}"]
        return [*lines, rng.choice([f"q{s}, k{s}, v{s} = qkv[0], qkv[1], qkv[2]", f"q{s}, k{s}, v{s} = qkv"])]


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
