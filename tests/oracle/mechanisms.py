"""The ways in which people scale a tensor, and those that look like one: each is a row of the grammar.

A mechanism gets the text of a tensor and a factor and returns the lines of the body after which that text names the outcome.
"""

from __future__ import annotations

from .draft import Draft, Factor, Lines, Parameter, block, mechanism

# plain and aliases ------------------------------------------------------------------------------------------------------------


@mechanism("plain")
def rebound(d: Draft, z: str, f: Factor) -> Lines:
    return [d.apply(z, f)]


@mechanism("plain")
def in_place(d: Draft, z: str, f: Factor) -> Lines:
    return [d.in_place(z, f)]


@mechanism("plain")
def through_a_new_name(d: Draft, z: str, f: Factor) -> Lines:
    new = d.name("scaled", "z", "tmp")
    return [f"{new} = {d.scaled(z, f)}", f"{z} = {new}"]


@mechanism("plain", "none")
def result_ignored(d: Draft, z: str, f: Factor) -> Lines:
    return [d.scaled(z, f)]


@mechanism("plain", "none")
def result_never_used(d: Draft, z: str, f: Factor) -> Lines:
    return [f"{d.name('scaled', 'unused')} = {d.scaled(z, f)}"]


@mechanism("aliases")
def alias_in_place(d: Draft, z: str, f: Factor) -> Lines:
    alias = d.name("alias", "z", "ref", "buf")
    return [f"{alias} = {z}", d.in_place(alias, f)]


@mechanism("aliases")
def chained_assignment_in_place(d: Draft, z: str, f: Factor) -> Lines:
    first, second = d.name("a"), d.name("b")
    return [f"{first} = {second} = {z}", d.in_place(second, f)]


@mechanism("aliases", "none")
def alias_rebound(d: Draft, z: str, f: Factor) -> Lines:
    alias = d.name("alias", "z", "ref")
    return [f"{alias} = {z}", d.apply(alias, f)]


@mechanism("aliases", "none")
def name_rebound_then_alias_back(d: Draft, z: str, f: Factor) -> Lines:
    alias = d.name("saved", "residual", "raw")
    return [f"{alias} = {z}", d.apply(z, f), f"{z} = {alias}"]


@mechanism("aliases")
def tuple_swap(d: Draft, z: str, f: Factor) -> Lines:
    a, b = d.name("a", "left"), d.name("b", "right")
    return [f"{a}, {b} = {z}, None", f"{a}, {b} = {b}, {a}", d.in_place(b, f)]


@mechanism("aliases")
def assigned_beside_another(d: Draft, z: str, f: Factor) -> Lines:
    return [f"{z}, {d.name('before', 'old')} = {d.scaled(z, f)}, {z}"]


@mechanism("aliases", "some")
def alias_or_copy(d: Draft, z: str, f: Factor) -> Lines:
    flag, alias = d.flag(), d.name("buf", "z")
    d.condition = flag
    return [f"{alias} = {z} if {flag} else {d.copy(z)}", d.in_place(alias, f)]


@mechanism("aliases")
def alias_kept_then_taken_back(d: Draft, z: str, f: Factor) -> Lines:
    alias = d.name("saved", "keep")
    return [f"{alias} = {z}", d.in_place(z, f), f"{z} = {alias}"]


@mechanism("aliases", "none")
def scaled_and_undone(d: Draft, z: str, f: Factor) -> Lines:
    return [f"{z} *= {f.multiplier}", f"{z} /= {f.multiplier}"]


# views and copies -------------------------------------------------------------------------------------------------------------


@mechanism("views")
def view_in_place(d: Draft, z: str, f: Factor) -> Lines:
    view = d.name("view", "z", "flat")
    return [f"{view} = {d.view(z)}", d.in_place(view, f)]


@mechanism("views")
def view_of_view_in_place(d: Draft, z: str, f: Factor) -> Lines:
    view, second = d.name("view"), d.name("inner")
    return [f"{view} = {d.view(z)}", f"{second} = {d.view(view)}", d.in_place(second, f)]


@mechanism("views", "none")
def view_rebound(d: Draft, z: str, f: Factor) -> Lines:
    view = d.name("view", "z")
    return [f"{view} = {d.view(z)}", d.apply(view, f)]


@mechanism("views", "none")
def copy_in_place(d: Draft, z: str, f: Factor) -> Lines:
    copy = d.name("copy", "z", "snapshot")
    return [f"{copy} = {d.copy(z)}", d.in_place(copy, f)]


@mechanism("views")
def copy_in_place_and_taken(d: Draft, z: str, f: Factor) -> Lines:
    copy = d.name("copy", "z")
    return [f"{copy} = {d.copy(z)}", d.in_place(copy, f), f"{z} = {copy}"]


@mechanism("views")
def name_scaled_after_copy(d: Draft, z: str, f: Factor) -> Lines:
    return [f"{d.name('before', 'snapshot')} = {d.copy(z)}", d.in_place(z, f)]


@mechanism("views", "none")
def copy_kept_then_taken_back(d: Draft, z: str, f: Factor) -> Lines:
    copy = d.name("saved", "backup")
    return [f"{copy} = {d.copy(z)}", d.in_place(z, f), f"{z} = {copy}"]


@mechanism("views")
def slice_target(d: Draft, z: str, f: Factor) -> Lines:
    index = d.pick([":", "...", "..., :"])
    return [
        d.pick([f"{z}[{index}] *= {f.multiplier}", f"{z}[{index}] = {z} * {f.multiplier}", f"{z}[{index}] = {z}[{index}] * {f.multiplier}"])
    ]


@mechanism("views")
def both_halves_in_place(d: Draft, z: str, f: Factor) -> Lines:
    n = d.name("half", "mid")
    return [f"{n} = {z}.shape[-1] // 2", f"{z}[..., :{n}] *= {f.multiplier}", f"{z}[..., {n}:] *= {f.multiplier}"]


@mechanism("views", "some")
def one_half_in_place(d: Draft, z: str, f: Factor) -> Lines:
    n = d.name("half", "mid")
    return [f"{n} = {z}.shape[-1] // 2", f"{z}[..., :{n}] *= {f.multiplier}"]


@mechanism("views")
def written_into_a_buffer(d: Draft, z: str, f: Factor) -> Lines:
    buffer = d.name("buf", "out", "result")
    np = d.dialect.module
    fill = d.pick(
        [
            f"{np}.{'multiply' if np == 'np' else 'mul'}({z}, {f.multiplier}, out={buffer})",
            f"{buffer}[...] = {d.scaled(z, f)}",
            f"{buffer}[:] = {d.scaled(z, f)}",
        ]
    )
    return [f"{buffer} = {np}.empty_like({z})", fill, f"{z} = {buffer}"]


@mechanism("views", "none")
def written_into_a_buffer_unused(d: Draft, z: str, f: Factor) -> Lines:
    buffer = d.name("buf", "out")
    np = d.dialect.module
    fill = d.pick([f"{np}.{'multiply' if np == 'np' else 'mul'}({z}, {f.multiplier}, out={buffer})", f"{buffer}[...] = {d.scaled(z, f)}"])
    return [f"{buffer} = {np}.empty_like({z})", fill]


@mechanism("views")
def reshaped_scaled_and_back(d: Draft, z: str, f: Factor) -> Lines:
    flat = d.name("flat", "rows")
    return [f"{flat} = {z}.reshape(-1, {z}.shape[-1])", d.apply(flat, f), f"{z} = {flat}.reshape({z}.shape)"]


@mechanism("views")
def halves_scaled_and_joined(d: Draft, z: str, f: Factor) -> Lines:
    a, b, n = d.name("first", "lo"), d.name("second", "hi"), d.name("half")
    join = f"np.concatenate(({a}, {b}), axis=-1)" if d.dialect.name == "numpy" else f"torch.cat(({a}, {b}), dim=-1)"
    return [f"{n} = {z}.shape[-1] // 2", f"{a}, {b} = {z}[..., :{n}] * {f.multiplier}, {z}[..., {n}:] * {f.multiplier}", f"{z} = {join}"]


@mechanism("views")
def rows_in_place(d: Draft, z: str, f: Factor) -> Lines:
    row = d.name("row", "item")
    return block(
        f"for {row} in {z}:", [d.pick([f"{row} *= {f.multiplier}", f"{row}[...] = {row} * {f.multiplier}", f"{row}[:] *= {f.multiplier}"])]
    )


@mechanism("views", "none")
def rows_rebound(d: Draft, z: str, f: Factor) -> Lines:
    row = d.name("row", "item")
    return block(f"for {row} in {z}:", [f"{row} = {row} * {f.multiplier}"])


@mechanism("views")
def rows_by_index(d: Draft, z: str, f: Factor) -> Lines:
    i = d.name("i", "n")
    return block(
        f"for {i} in range({d.pick([f'len({z})', f'{z}.shape[0]'])}):", [f"{z}[{i}] {d.pick(['*=', '= ' + f'{z}[{i}] *'])} {f.multiplier}"]
    )


@mechanism("views", "some")
def first_row_only(d: Draft, z: str, f: Factor) -> Lines:
    return [f"{z}[0] *= {f.multiplier}"]


# loops ------------------------------------------------------------------------------------------------------------------------


@mechanism("loops")
def loop_once(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"for {d.pick(['_', 'i'])} in {d.pick(['range(1)', '(0,)', 'range(0, 1)', '[None]'])}:", [d.apply(z, f)])


@mechanism("loops", "some")
def loop_twice(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"for _ in range({d.pick(['2', '3'])}):", [d.pick([d.apply(z, f), d.in_place(z, f)])])


@mechanism("loops", "none")
def loop_never(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"for _ in {d.pick(['range(0)', '()', '[]', 'range(1, 1)'])}:", [d.apply(z, f)])


@mechanism("loops")
def loop_with_break(d: Draft, z: str, f: Factor) -> Lines:
    n = d.pick(["3", f"len({z})", "10"])
    return block(f"for _ in range({n}):", [d.pick([d.apply(z, f), d.in_place(z, f)]), "break"])


@mechanism("loops", "none")
def loop_break_first(d: Draft, z: str, f: Factor) -> Lines:
    return block("for i in range(3):", ["if i == 0:", "    break", d.apply(z, f)])


@mechanism("loops")
def loop_break_second_round(d: Draft, z: str, f: Factor) -> Lines:
    return block("for i in range(4):", ["if i == 1:", "    break", d.apply(z, f)])


@mechanism("loops", "none")
def loop_continue_first(d: Draft, z: str, f: Factor) -> Lines:
    return block("for _ in range(2):", ["continue", d.apply(z, f)])


@mechanism("loops")
def loop_continue_some(d: Draft, z: str, f: Factor) -> Lines:
    return block("for i in range(3):", ["if i != 1:", "    continue", d.apply(z, f)])


@mechanism("loops")
def loop_else(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("for i in range(3):", [d.pick(["pass", "if i > 5:\n    break"])]), *block("else:", [d.apply(z, f)])]


@mechanism("loops", "none")
def loop_else_broken(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("for i in range(3):", ["if i == 1:", "    break"]), *block("else:", [d.apply(z, f)])]


@mechanism("loops", "some")
def loop_unknown_count(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"for _ in range({d.pick([f'{z}.shape[-2]', f'len({z})'])}):", [d.apply(z, f)])


@mechanism("loops")
def loop_unknown_count_first_only(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"for i in range({z}.shape[-2]):", [*block("if i == 0:", [d.apply(z, f)])])


@mechanism("loops")
def loop_over_both_in_place(d: Draft, z: str, f: Factor) -> Lines:
    one = d.name("t", "one")
    return block(f"for {one} in ({z},):", [d.in_place(one, f)])


@mechanism("loops", "none")
def loop_over_both_rebound(d: Draft, z: str, f: Factor) -> Lines:
    one = d.name("t", "one")
    return block(f"for {one} in [{z}]:", [d.apply(one, f)])


@mechanism("loops")
def while_not_done(d: Draft, z: str, f: Factor) -> Lines:
    done = d.name("done", "ready")
    return [f"{done} = False", *block(f"while not {done}:", [d.apply(z, f), f"{done} = True"])]


@mechanism("loops")
def while_true_break(d: Draft, z: str, f: Factor) -> Lines:
    return block("while True:", [d.apply(z, f), "break"])


@mechanism("loops", "some")
def while_counter(d: Draft, z: str, f: Factor) -> Lines:
    n = d.name("n", "step")
    return [f"{n} = 0", *block(f"while {n} < 2:", [d.apply(z, f), f"{n} += 1"])]


@mechanism("loops")
def while_counter_once(d: Draft, z: str, f: Factor) -> Lines:
    n = d.name("n", "step")
    return [f"{n} = 1", *block(f"while {n} > 0:", [d.apply(z, f), f"{n} -= 1"])]


@mechanism("loops", "none")
def while_false(d: Draft, z: str, f: Factor) -> Lines:
    return block("while False:", [d.apply(z, f)])


@mechanism("loops")
def loop_last_of_factors(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("c", "factor")
    return [*block(f"for {c} in (1.0, {f.multiplier}):", ["pass"]), f"{z} = {z} * {c}"]


@mechanism("loops")
def loop_of_factors(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("c", "factor")
    return block(f"for {c} in ({f.multiplier}, 1.0):", [f"{z} = {z} * {c}"])


# branches ---------------------------------------------------------------------------------------------------------------------


@mechanism("branches")
def both_branches(d: Draft, z: str, f: Factor) -> Lines:
    flag = d.flag()
    return [*block(f"if {flag}:", [d.apply(z, f)]), *block("else:", [d.pick([d.apply(z, f), d.in_place(z, f)])])]


@mechanism("branches", "some")
def one_branch(d: Draft, z: str, f: Factor) -> Lines:
    flag = d.flag()
    negated = d.chance(0.3)
    d.condition = f"not {flag}" if negated else flag
    return block(f"if {d.condition}:", [d.pick([d.apply(z, f), d.in_place(z, f)])])


@mechanism("branches", "some")
def conditional_expression(d: Draft, z: str, f: Factor) -> Lines:
    flag = d.flag()
    d.condition = flag
    return [f"{z} = {d.scaled(z, f)} if {flag} else {z}"]


@mechanism("branches", "some")
def conditional_factor(d: Draft, z: str, f: Factor) -> Lines:
    flag = d.flag()
    d.condition = flag
    c = d.name("factor", "c")
    return [f"{c} = {f.multiplier} if {flag} else 1.0", f"{z} = {z} * {c}"]


@mechanism("branches")
def none_default(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("scale", "factor")
    form = [*block(f"if {c} is None:", [f"{c} = {f.multiplier}"])]
    if d.chance(0.4):
        form = [f"{c} = {f.multiplier} if {c} is None else {c}"]
    return [f"{c} = None", *form, f"{z} = {z} * {c}"]


@mechanism("branches", nested=False)
def none_parameter(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("scale", "softmax_scale")
    d.parameters.append(Parameter(c, "None", ("default",)))
    if d.chance(0.3):
        return [f"{z} = {z} * ({f.multiplier} if {c} is None else {c})"]
    return [*block(f"if {c} is None:", [f"{c} = {f.multiplier}"]), f"{z} = {z} * {c}"]


@mechanism("branches", "some")
def flag_set_by_branch(d: Draft, z: str, f: Factor) -> Lines:
    flag, done = d.flag(), d.name("done", "already_scaled")
    d.condition = done
    return [f"{done} = False", *block(f"if {flag}:", [d.apply(z, f), f"{done} = True"])]


@mechanism("branches")
def or_default(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("scale", "factor")
    return [f"{c} = None", f"{z} = {z} * ({c} or {f.multiplier})"]


@mechanism("branches", "some")
def boolean_times(d: Draft, z: str, f: Factor) -> Lines:
    flag = d.flag()
    d.condition = flag
    return [f"{z} = {z} * ({f.multiplier} ** int({flag}))"]


@mechanism("branches")
def walrus_factor(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("c", "factor")
    return [f"{z} = {z} * ({c} := {f.multiplier})"]


@mechanism("branches")
def walrus_in_test(d: Draft, z: str, f: Factor) -> Lines:
    new = d.name("scaled", "z")
    return block(f"if ({new} := {d.scaled(z, f)}) is not None:", [f"{z} = {new}"])


@mechanism("branches")
def walrus_rebinds_in_test(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"if ({z} := {d.scaled(z, f)}).ndim > 0:", ["pass"])


@mechanism("branches", "none")
def always_false(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"if {d.pick(['False', '0', 'None', '1 > 2'])}:", [d.apply(z, f)])


@mechanism("branches")
def always_true(d: Draft, z: str, f: Factor) -> Lines:
    return block(f"if {d.pick(['True', '1', 'not None', z + '.shape[-1] > 0'])}:", [d.apply(z, f)])


@mechanism("branches")
def three_ways(d: Draft, z: str, f: Factor) -> Lines:
    mode = d.name("mode", "impl")
    d.parameters.append(Parameter(mode, '"eager"', ("eager", "fast", "other")))
    return [
        *block(f'if {mode} == "eager":', [d.apply(z, f)]),
        *block(f'elif {mode} == "fast":', [d.in_place(z, f)]),
        *block("else:", [d.apply(z, f)]),
    ]


@mechanism("branches", "some")
def two_of_three_ways(d: Draft, z: str, f: Factor) -> Lines:
    mode = d.name("mode", "impl")
    d.parameters.append(Parameter(mode, '"eager"', ("eager", "fast", "other")))
    d.condition = f'{mode} in ("eager", "fast")'
    return [*block(f'if {mode} == "eager":', [d.apply(z, f)]), *block(f'elif {mode} == "fast":', [d.apply(z, f)])]


@mechanism("match")
def match_with_default(d: Draft, z: str, f: Factor) -> Lines:
    mode = d.name("mode", "kind")
    d.parameters.append(Parameter(mode, '"eager"', ("eager", "fast", "other")))
    cases = [
        *block('case "eager":', [d.apply(z, f)]),
        *block(d.pick(["case _:", "case other:"]), [d.apply(z, f)]),
    ]
    return block(f"match {mode}:", cases)


@mechanism("match", "some")
def match_without_default(d: Draft, z: str, f: Factor) -> Lines:
    mode = d.name("mode", "kind")
    d.parameters.append(Parameter(mode, '"eager"', ("eager", "fast", "other")))
    d.condition = f'{mode} in ("eager", "fast")'
    cases = [*block('case "eager":', [d.apply(z, f)]), *block('case "fast":', [d.apply(z, f)])]
    return block(f"match {mode}:", cases)


@mechanism("match")
def match_capture(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("c", "factor")
    return block(f"match ({z}, {f.multiplier}):", block(f"case (_, {c}):", [f"{z} = {z} * {c}"]))


# exceptions -------------------------------------------------------------------------------------------------------------------


@mechanism("exceptions")
def scaled_in_try(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("try:", [d.apply(z, f)]), *block("except ValueError:", [d.pick(["pass", "raise"])])]


@mechanism("exceptions")
def scaled_in_except(d: Draft, z: str, f: Factor) -> Lines:
    raising = d.pick(['raise ValueError("no fast kernel")', 'int("x")', "import missing_kernels", "{}['kernel']"])
    kind = "ImportError" if raising.startswith("import") else "KeyError" if raising.startswith("{") else "ValueError"
    return [*block("try:", [raising]), *block(f"except {kind}:", [d.apply(z, f)])]


@mechanism("exceptions", "none")
def scaled_in_except_that_never_happens(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("try:", [f"{d.name('n')} = {z}.ndim"]), *block("except AttributeError:", [d.apply(z, f)])]


@mechanism("exceptions")
def scaled_in_else(d: Draft, z: str, f: Factor) -> Lines:
    return [
        *block("try:", [f'{d.name("n", "width")} = int("8")']),
        *block("except ValueError:", [d.pick(["pass", "raise"])]),
        *block("else:", [d.apply(z, f)]),
    ]


@mechanism("exceptions", "none")
def scaled_in_else_that_is_left_out(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("try:", ['raise ValueError("x")']), *block("except ValueError:", ["pass"]), *block("else:", [d.apply(z, f)])]


@mechanism("exceptions")
def scaled_in_finally(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("try:", [f"{d.name('n')} = {z}.ndim"]), *block("finally:", [d.apply(z, f)])]


@mechanism("exceptions")
def scaled_before_it_raises(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("try:", [d.apply(z, f), 'raise KeyError("x")']), *block("except KeyError:", ["pass"])]


@mechanism("exceptions", "none")
def raises_before_scaled(d: Draft, z: str, f: Factor) -> Lines:
    return [*block("try:", ['{}["x"]', d.apply(z, f)]), *block("except KeyError:", ["pass"])]


@mechanism("exceptions")
def factor_in_except(d: Draft, z: str, f: Factor) -> Lines:
    c, config = d.name("scale", "c"), d.name("options", "config")
    return [
        f"{config} = {{}}",
        *block("try:", [f'{c} = {config}["scale"]']),
        *block("except KeyError:", [f"{c} = {f.multiplier}"]),
        f"{z} = {z} * {c}",
    ]


@mechanism("exceptions")
def suppressed_nothing(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from contextlib import suppress")
    return block("with suppress(KeyError):", [d.apply(z, f)])


@mechanism("exceptions", "none")
def suppressed_before_scaled(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from contextlib import suppress")
    return block("with suppress(KeyError):", ['{}["x"]', d.apply(z, f)])


@mechanism("exceptions")
def in_a_with(d: Draft, z: str, f: Factor) -> Lines:
    manager = {"numpy": 'np.errstate(all="ignore")', "torch": "torch.no_grad()"}[d.dialect.name]
    return block(f"with {manager}:", [d.pick([d.apply(z, f), d.in_place(z, f)])])


@mechanism("exceptions")
def own_context_manager(d: Draft, z: str, f: Factor) -> Lines:
    d.need("import contextlib")
    name = d.name("region", "timed")
    d.helper(["@contextlib.contextmanager", *block(f"def {name}(label):", ["print(label)", "yield", 'print("end")'])])
    return block(f'with {name}("scale"):', [d.apply(z, f)])


@mechanism("exceptions")
def context_manager_that_yields_the_factor(d: Draft, z: str, f: Factor) -> Lines:
    d.need("import contextlib")
    name, c = d.name("scaling"), d.name("c")
    d.helper(["@contextlib.contextmanager", *block(f"def {name}(value):", ["yield value"])])
    return block(f"with {name}({f.multiplier}) as {c}:", [f"{z} = {z} * {c}"])


# calls ------------------------------------------------------------------------------------------------------------------------


@mechanism("calls")
def helper_returns(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scale_by", "rescale", "apply_scale", "prepare")
    d.helper_somewhere(name, block(f"def {name}(t, c):", [d.pick(["return t * c", "return c * t", "t = t * c\nreturn t"])]))
    return [f"{z} = {name}({z}, {f.multiplier})"]


@mechanism("calls")
def helper_mutates(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scale_by", "rescale_", "prepare")
    d.helper_somewhere(name, block(f"def {name}(t, c):", [d.in_place("t", Factor("c"))]))
    return [f"{name}({z}, {f.multiplier})"]


@mechanism("calls")
def helper_mutates_and_returns(d: Draft, z: str, f: Factor) -> Lines:
    name, out = d.name("scale_by", "rescale_", "prepare"), d.name("out", "z")
    d.helper_somewhere(name, block(f"def {name}(t, c):", [d.in_place("t", Factor("c")), "return t"]))
    return [d.pick([f"{z} = {name}({z}, {f.multiplier})", f"{out} = {name}({z}, {f.multiplier})", f"{name}({z}, {f.multiplier})"])]


@mechanism("calls", "none")
def helper_result_ignored(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scale_by", "rescale")
    d.helper_somewhere(name, block(f"def {name}(t, c):", ["return t * c"]))
    return [f"{name}({z}, {f.multiplier})"]


@mechanism("calls", "none")
def helper_rebinds_its_parameter(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scale_by", "rescale")
    d.helper_somewhere(name, block(f"def {name}(t, c):", ["t = t * c"]))
    return [f"{name}({z}, {f.multiplier})"]


@mechanism("calls")
def helper_with_default(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "temper")
    d.helper_somewhere(name, block(f"def {name}(t, c=None):", [*block("if c is None:", ["c = 1.0"]), "return t * c"]))
    return [f"{z} = {name}({z}, {d.pick(['', 'c='])}{f.multiplier})"]


@mechanism("calls")
def keyword_only_helper(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "temper")
    d.helper_somewhere(name, block(f"def {name}(t, *, scale=1.0):", ["return t * scale"]))
    return [f"{z} = {name}({z}, scale={f.multiplier})"]


@mechanism("calls", "none")
def keyword_helper_default_kept(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "temper")
    d.helper_somewhere(name, block(f"def {name}(t, scale=1.0):", ["return t * scale"]))
    return [f"{z} = {name}({z})"]


@mechanism("calls")
def star_arguments(d: Draft, z: str, f: Factor) -> Lines:
    name, args = d.name("rescale", "combine"), d.name("args", "pair")
    d.helper_somewhere(name, block(f"def {name}(t, c):", ["return t * c"]))
    if d.chance(0.5):
        return [f"{args} = ({z}, {f.multiplier})", f"{z} = {name}(*{args})"]
    return [f'{args} = {{"t": {z}, "c": {f.multiplier}}}', f"{z} = {name}(**{args})"]


@mechanism("calls")
def star_parameters(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale_all", "prepare")
    d.helper_somewhere(name, block(f"def {name}(c, *tensors):", ["return [t * c for t in tensors]"]))
    return [
        d.pick([f"({z},) = {name}({f.multiplier}, {z})", f"{z} = {name}({f.multiplier}, {z})[0]", f"[{z}] = {name}({f.multiplier}, {z})"])
    ]


@mechanism("calls")
def star_parameters_mutated(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale_all", "prepare")
    d.helper_somewhere(name, block(f"def {name}(c, *tensors):", block("for t in tensors:", ["t *= c"])))
    return [f"{name}({f.multiplier}, {z})"]


@mechanism("calls")
def partial_function(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from functools import partial")
    name, bound = d.name("rescale", "temper"), d.name("scaler", "fn")
    d.helper_somewhere(name, block(f"def {name}(t, c):", ["return t * c"]))
    return [f"{bound} = partial({name}, c={f.multiplier})", f"{z} = {bound}({z})"]


@mechanism("calls")
def partial_of_operator(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from functools import partial")
    d.need("import operator")
    return [f"{z} = partial(operator.mul, {f.multiplier})({z})"]


@mechanism("calls")
def operator_in_place(d: Draft, z: str, f: Factor) -> Lines:
    d.need("import operator")
    return [
        d.pick(
            [f"operator.imul({z}, {f.multiplier})", f"{z} = operator.mul({z}, {f.multiplier})", f"{z} = operator.imul({z}, {f.multiplier})"]
        )
    ]


@mechanism("calls")
def helper_of_a_helper(d: Draft, z: str, f: Factor) -> Lines:
    inner, outer = d.name("times", "_scale"), d.name("prepare", "rescale")
    d.helper(block(f"def {inner}(t, c):", ["return t * c"]))
    d.helper(block(f"def {outer}(t, c):", [f"return {inner}(t, c)"]))
    return [f"{z} = {outer}({z}, {f.multiplier})"]


@mechanism("calls")
def helper_with_early_return(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("prepare", "rescale")
    d.helper_somewhere(name, block(f"def {name}(t, c, skip=False):", [*block("if skip:", ["return t"]), "return t * c"]))
    return [f"{z} = {name}({z}, {f.multiplier})"]


@mechanism("calls", "some")
def helper_with_early_return_by_flag(d: Draft, z: str, f: Factor) -> Lines:
    name, flag = d.name("prepare", "rescale"), d.flag()
    d.helper_somewhere(name, block(f"def {name}(t, c, skip=False):", [*block("if skip:", ["return t"]), "return t * c"]))
    d.condition = f"not {flag}"
    return [f"{z} = {name}({z}, {f.multiplier}, skip={flag})"]


@mechanism("calls")
def functools_reduce(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from functools import reduce")
    return [f"{z} = reduce(lambda t, c: t * c, ({f.multiplier}, 1.0), {z})"]


# closures ---------------------------------------------------------------------------------------------------------------------


@mechanism("closures")
def closure_reads_factor(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "scaled", "g")
    return [*block(f"def {name}(t):", [f"return t * {f.multiplier}"]), f"{z} = {name}({z})"]


@mechanism("closures")
def closure_mutates_cell(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "apply")
    return [*block(f"def {name}():", [d.pick([f"{z}[...] *= {f.multiplier}", f"{z}[...] = {z} * {f.multiplier}"])]), f"{name}()"]


@mechanism("closures")
def nonlocal_rebound(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "apply")
    return [*block(f"def {name}():", [f"nonlocal {z}", d.apply(z, f)]), f"{name}()"]


@mechanism("closures", "none")
def nonlocal_never_called(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "apply")
    return block(f"def {name}():", [f"nonlocal {z}", d.apply(z, f)])


@mechanism("closures", "some")
def nonlocal_called_twice(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "apply")
    return [*block(f"def {name}():", [f"nonlocal {z}", d.apply(z, f)]), f"{name}()", f"{name}()"]


@mechanism("closures", nested=False)
def global_rebound(d: Draft, z: str, f: Factor) -> Lines:
    name, state = d.name("rescale", "remember"), d.name("STATE", "CURRENT")
    d.helper([f"{state} = None"])
    d.helper(block(f"def {name}(t, c):", [f"global {state}", f"{state} = t * c"]))
    return [f"{name}({z}, {f.multiplier})", f"{z} = {state}"]


@mechanism("closures", nested=False)
def global_factor(d: Draft, z: str, f: Factor) -> Lines:
    name, state = d.name("set_scale", "configure"), d.name("CURRENT_SCALE", "FACTOR")
    d.helper([f"{state} = 1.0"])
    d.helper(block(f"def {name}(c):", [f"global {state}", f"{state} = c"]))
    return [f"{name}({f.multiplier})", f"{z} = {z} * {state}"]


@mechanism("closures")
def factory(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("make_scaler", "scaler")
    d.helper_somewhere(name, block(f"def {name}(c):", [*block("def inner(t):", ["return t * c"]), "return inner"]))
    return [f"{z} = {name}({f.multiplier})({z})"]


@mechanism("closures")
def lambda_called(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scaler", "fn")
    return [f"{name} = lambda t: t * {f.multiplier}", f"{z} = {name}({z})"]


@mechanism("closures")
def lambda_default_read_early(d: Draft, z: str, f: Factor) -> Lines:
    name, c = d.name("scaler", "fn"), d.name("r", "c")
    return [f"{c} = {f.multiplier}", f"{name} = lambda t, {c}={c}: t * {c}", f"{c} = 1.0", f"{z} = {name}({z})"]


@mechanism("closures", "none")
def lambda_read_late(d: Draft, z: str, f: Factor) -> Lines:
    name, c = d.name("scaler", "fn"), d.name("r", "c")
    return [f"{c} = {f.multiplier}", f"{name} = lambda t: t * {c}", f"{c} = 1.0", f"{z} = {name}({z})"]


@mechanism("closures")
def lambda_read_late_right(d: Draft, z: str, f: Factor) -> Lines:
    name, c = d.name("scaler", "fn"), d.name("r", "c")
    return [f"{c} = 1.0", f"{name} = lambda t: t * {c}", f"{c} = {f.multiplier}", f"{z} = {name}({z})"]


@mechanism("closures", "none")
def shadowed_in_a_function(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("debug", "show")
    return [*block(f"def {name}({z}):", [d.apply(z, f), f"return {z}"]), f"{name}({z})"]


# containers -------------------------------------------------------------------------------------------------------------------


@mechanism("containers")
def list_item_in_place(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("tensors", "pack", "qs")
    return [f"{pack} = [{z}]", d.pick([f"{pack}[0] *= {f.multiplier}", f"{pack}[0][...] *= {f.multiplier}"])]


@mechanism("containers")
def list_item_rebound_and_taken(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("tensors", "pack")
    return [
        f"{pack} = [{z}]",
        f"{pack}[0] = {pack}[0] * {f.multiplier}",
        d.pick([f"{z} = {pack}[0]", f"({z},) = {pack}", f"{z} = {pack}.pop()"]),
    ]


@mechanism("containers", "none")
def list_item_rebound(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("tensors", "pack")
    return [f"{pack} = [{z}]", f"{pack}[0] = {pack}[0] * {f.multiplier}"]


@mechanism("containers")
def dict_item_in_place(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("state", "pack", "cache")
    return [f'{pack} = {{"z": {z}}}', f'{pack}["z"] *= {f.multiplier}']


@mechanism("containers")
def dict_item_taken(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("state", "pack", "cache")
    get = d.pick([f'{pack}["z"]', f'{pack}.get("z")', f'{pack}.pop("z")'])
    return [
        f"{pack} = {d.pick([f'dict(z={z})', '{' + chr(34) + 'z' + chr(34) + f': {z}' + '}'])}",
        f'{pack}["z"] = {pack}["z"] * {f.multiplier}',
        f"{z} = {get}",
    ]


@mechanism("containers", "none")
def dict_item_rebound(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("state", "pack")
    return [f'{pack} = {{"z": {z}}}', f'{pack}["z"] = {pack}["z"] * {f.multiplier}']


@mechanism("containers")
def dict_values_in_place(d: Draft, z: str, f: Factor) -> Lines:
    pack, one = d.name("state", "pack"), d.name("t", "one")
    return [f'{pack} = {{"z": {z}}}', *block(f"for {one} in {pack}.values():", [d.in_place(one, f)])]


@mechanism("containers")
def starred_rest(d: Draft, z: str, f: Factor) -> Lines:
    one, rest = d.name("one", "head"), d.name("rest")
    if d.chance(0.5):
        return [f"{one}, *{rest} = [{z}, None, None]", d.in_place(one, f)]
    return [f"{one}, *{rest} = [None, {z}]", d.in_place(f"{rest}[0]", f)]


@mechanism("containers")
def zipped_factors(d: Draft, z: str, f: Factor) -> Lines:
    one, c = d.name("t"), d.name("c")
    if d.chance(0.5):
        return block(f"for {one}, {c} in zip(({z},), ({f.multiplier},)):", [f"{one} *= {c}"])
    return [f"({z},) = [{one} * {c} for {one}, {c} in zip(({z},), ({f.multiplier},))]"]


@mechanism("containers")
def enumerated(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("tensors", "pack")
    return [f"{pack} = [{z}]", *block(f"for i, t in enumerate({pack}):", [f"{pack}[i] = t * {f.multiplier}"]), f"{z} = {pack}[0]"]


@mechanism("containers")
def list_appended(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("tensors", "pack")
    return [f"{pack} = []", f"{pack}.append({d.scaled(z, f)})", f"{z} = {pack}[{d.pick(['0', '-1'])}]"]


@mechanism("containers")
def comprehension(d: Draft, z: str, f: Factor) -> Lines:
    one = d.name("t", "one")
    return [
        d.pick(
            [
                f"({z},) = [{one} * {f.multiplier} for {one} in ({z},)]",
                f"{z} = [{one} * {f.multiplier} for {one} in ({z},)][0]",
                f"({z},) = ({one} * {f.multiplier} for {one} in [{z}])",
                f"({z},) = tuple({one} * {f.multiplier} for {one} in [{z}])",
            ]
        )
    ]


@mechanism("containers")
def dict_comprehension(d: Draft, z: str, f: Factor) -> Lines:
    return [f'{z} = {{name: t * {f.multiplier} for name, t in {{"z": {z}}}.items()}}["z"]']


@mechanism("containers")
def mapped(d: Draft, z: str, f: Factor) -> Lines:
    return [
        d.pick(
            [
                f"({z},) = map(lambda t: t * {f.multiplier}, ({z},))",
                f"{z} = list(map(lambda t: t * {f.multiplier}, [{z}]))[0]",
                f"{z} = next(map(lambda t: t * {f.multiplier}, [{z}]))",
            ]
        )
    ]


@mechanism("containers", "none")
def mapped_lazily(d: Draft, z: str, f: Factor) -> Lines:
    return [f"{d.name('lazy', 'unused')} = map(lambda t: t * {f.multiplier}, [{z}])"]


@mechanism("containers")
def namespace_in_place(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from types import SimpleNamespace")
    ns = d.name("state", "ctx")
    if d.chance(0.5):
        return [f"{ns} = SimpleNamespace(z={z})", f"{ns}.z *= {f.multiplier}"]
    return [f"{ns} = SimpleNamespace(z={z})", f"{ns}.z = {ns}.z * {f.multiplier}", f"{z} = {ns}.z"]


@mechanism("containers")
def dataclass_factor(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from dataclasses import dataclass")
    name, value = d.name("Scaling", "Options").capitalize(), d.name("options", "settings")
    d.taken.add(name)
    d.helper(["@dataclass", *block(f"class {name}:", ["scale: float = 1.0"])])
    return [f"{value} = {name}(scale={f.multiplier})", f"{z} = {z} * {value}.scale"]


@mechanism("containers")
def object_changed_by_a_function(d: Draft, z: str, f: Factor) -> Lines:
    d.need("from types import SimpleNamespace")
    ns, name = d.name("state", "ctx"), d.name("rescale_state", "prepare")
    d.helper_somewhere(name, block(f"def {name}(state, c):", ["state.z = state.z * c"]))
    return [f"{ns} = SimpleNamespace(z={z})", f"{name}({ns}, {f.multiplier})", f"{z} = {ns}.z"]


@mechanism("containers")
def list_changed_by_a_function(d: Draft, z: str, f: Factor) -> Lines:
    pack, name = d.name("tensors", "pack"), d.name("rescale_first", "prepare")
    d.helper_somewhere(name, block(f"def {name}(items, c):", ["items[0] = items[0] * c"]))
    return [f"{pack} = [{z}]", f"{name}({pack}, {f.multiplier})", f"{z} = {pack}[0]"]


# generators -------------------------------------------------------------------------------------------------------------------


@mechanism("generators")
def generator_function(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scaled_all", "each_scaled")
    d.helper_somewhere(name, block(f"def {name}(c, *tensors):", block("for t in tensors:", ["yield t * c"])))
    return [
        d.pick(
            [
                f"({z},) = {name}({f.multiplier}, {z})",
                f"{z} = next({name}({f.multiplier}, {z}))",
                f"{z} = list({name}({f.multiplier}, {z}))[0]",
            ]
        )
    ]


@mechanism("generators")
def generator_in_place(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scale_each", "touch")
    d.helper_somewhere(name, block(f"def {name}(c, *tensors):", block("for t in tensors:", ["t *= c", "yield t"])))
    return [d.pick([f"list({name}({f.multiplier}, {z}))", f"next({name}({f.multiplier}, {z}))"])]


@mechanism("generators", "none")
def generator_never_run(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("scale_each", "touch")
    d.helper_somewhere(name, block(f"def {name}(c, *tensors):", block("for t in tensors:", ["t *= c", "yield t"])))
    return [d.pick([f"{name}({f.multiplier}, {z})", f"{d.name('lazy')} = {name}({f.multiplier}, {z})"])]


# decorators -------------------------------------------------------------------------------------------------------------------


def _wrapper(d: Draft, name: str, result: str) -> Lines:
    inner = block("def wrapper(*args, **kwargs):", [f"return {result}"])
    if d.chance(0.5):
        d.need("import functools")
        inner = ["@functools.wraps(fn)", *inner]
    return block(f"def {name}(fn):", [*inner, "return wrapper"])


@mechanism("decorators")
def decorator_that_scales(d: Draft, z: str, f: Factor) -> Lines:
    name, fn, by = d.name("scaled_by", "tempered"), d.name("prepare", "identity"), f.multiplier
    inner = block("def wrapper(*args):", ["return fn(*args) * c"])
    d.helper(block(f"def {name}(c):", [*block("def decorate(fn):", [*inner, "return wrapper"]), "return decorate"]))
    return [f"@{name}({by})", *block(f"def {fn}(t):", ["return t"]), f"{z} = {fn}({z})"]


@mechanism("decorators")
def decorator_that_passes_through(d: Draft, z: str, f: Factor) -> Lines:
    name, fn = d.name("logged", "cached", "timed"), d.name("rescale", "prepare")
    d.helper(_wrapper(d, name, "fn(*args, **kwargs)"))
    d.helper([f"@{name}", *block(f"def {fn}(t, c):", ["return t * c"])])
    return [f"{z} = {fn}({z}, {f.multiplier})"]


@mechanism("decorators", "some")
def decorator_that_scales_again(d: Draft, z: str, f: Factor) -> Lines:
    name, fn = d.name("tempered", "adjusted"), d.name("rescale", "prepare")
    d.helper(_wrapper(d, name, "fn(*args, **kwargs) * args[1]"))
    d.helper([f"@{name}", *block(f"def {fn}(t, c):", ["return t * c"])])
    return [f"{z} = {fn}({z}, {f.multiplier})"]


@mechanism("decorators", "none")
def decorator_that_replaces(d: Draft, z: str, f: Factor) -> Lines:
    name, fn = d.name("disabled", "skipped"), d.name("rescale", "prepare")
    d.helper(_wrapper(d, name, "args[0]"))
    d.helper([f"@{name}", *block(f"def {fn}(t, c):", ["return t * c"])])
    return [f"{z} = {fn}({z}, {f.multiplier})"]


# classes ----------------------------------------------------------------------------------------------------------------------


@mechanism("classes")
def callable_object(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("Scaler", "Temperature")
    d.helper_somewhere(
        name,
        block(
            f"class {name}:",
            [*block("def __init__(self, c):", ["self.c = c"]), "", *block("def __call__(self, t):", ["return t * self.c"])],
        ),
    )
    return [f"{z} = {name}({f.multiplier})({z})"]


@mechanism("classes")
def static_method(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("Scaling", "Ops")
    d.helper(block(f"class {name}:", ["@staticmethod", *block("def apply(t, c):", ["return t * c"])]))
    return [f"{z} = {name}.apply({z}, {f.multiplier})"]


@mechanism("classes")
def object_property(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("Holder", "Scaling")
    d.helper(
        block(
            f"class {name}:",
            [
                *block("def __init__(self, value):", ["self._value = value"]),
                "",
                "@property",
                *block("def value(self):", ["return self._value"]),
            ],
        )
    )
    return [f"{z} = {z} * {name}({f.multiplier}).value"]


@mechanism("classes")
def overridden_method(d: Draft, z: str, f: Factor) -> Lines:
    base, name = d.name("Base", "Plain"), d.name("Scaled", "Tempered")
    d.helper(block(f"class {base}:", block("def prepare(self, t, c):", ["return t"])))
    d.helper(
        block(f"class {name}({base}):", block("def prepare(self, t, c):", [d.pick(["return t * c", "return super().prepare(t, c) * c"])]))
    )
    return [f"{z} = {name}().prepare({z}, {f.multiplier})"]


@mechanism("classes", "none")
def base_method_of_two(d: Draft, z: str, f: Factor) -> Lines:
    base, name = d.name("Base", "Plain"), d.name("Scaled", "Tempered")
    d.helper(block(f"class {base}:", block("def prepare(self, t, c):", ["return t"])))
    d.helper(block(f"class {name}({base}):", block("def prepare(self, t, c):", ["return t * c"])))
    return [f"{z} = {base}().prepare({z}, {f.multiplier})"]


@mechanism("classes")
def attribute_changed_by_a_method(d: Draft, z: str, f: Factor) -> Lines:
    name, one = d.name("Scaler", "State"), d.name("scaler", "state")
    d.helper(block(f"class {name}:", [*block("def __init__(self):", ["self.c = 1.0"]), "", *block("def set(self, c):", ["self.c = c"])]))
    return [f"{one} = {name}()", f"{one}.set({f.multiplier})", f"{z} = {z} * {one}.c"]


@mechanism("classes", "none")
def attribute_reset_by_a_method(d: Draft, z: str, f: Factor) -> Lines:
    name, one = d.name("Scaler", "State"), d.name("scaler", "state")
    d.helper(block(f"class {name}:", [*block("def __init__(self, c):", ["self.c = c"]), "", *block("def reset(self):", ["self.c = 1.0"])]))
    return [f"{one} = {name}({f.multiplier})", f"{one}.reset()", f"{z} = {z} * {one}.c"]


@mechanism("classes")
def tensor_held_by_an_object(d: Draft, z: str, f: Factor) -> Lines:
    name, one = d.name("Holder", "Slot"), d.name("holder", "slot")
    d.helper(
        block(
            f"class {name}:",
            [
                *block("def __init__(self, t):", ["self.t = t"]),
                "",
                *block("def scale(self, c):", [d.pick(["self.t *= c", "self.t = self.t * c"])]),
            ],
        )
    )
    return [f"{one} = {name}({z})", f"{one}.scale({f.multiplier})", f"{z} = {one}.t"]


@mechanism("classes")
def own_method(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return helper_returns(d, z, f)
    name = d.name("rescale", "_scale", "prepare")
    d.methods.append(block(f"def {name}(self, t, c):", ["return t * c"]))
    return [f"{z} = self.{name}({z}, {f.multiplier})"]


@mechanism("classes")
def own_method_mutates(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return helper_mutates(d, z, f)
    name = d.name("rescale_", "_scale_", "prepare")
    d.methods.append(block(f"def {name}(self, t, c):", [d.in_place("t", Factor("c"))]))
    return [f"self.{name}({z}, {f.multiplier})"]


@mechanism("classes", nested=False)
def inherited_method(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return helper_returns(d, z, f)
    name = d.name("rescale", "_scale", "prepare")
    d.bases.append((d.name("ScaleMixin", "Base"), [block(f"def {name}(self, t, c):", ["return t * c"])]))
    return [f"{z} = self.{name}({z}, {f.multiplier})"]


@mechanism("classes", nested=False)
def inherited_and_overridden(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return overridden_method(d, z, f)
    name = d.name("rescale", "_scale", "prepare")
    d.bases.append((d.name("ScaleMixin", "Base"), [block(f"def {name}(self, t, c):", ["return t"])]))
    d.methods.append(block(f"def {name}(self, t, c):", [d.pick(["return t * c", f"return super().{name}(t, c) * c"])]))
    return [f"{z} = self.{name}({z}, {f.multiplier})"]


@mechanism("classes")
def kept_in_an_attribute(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return namespace_in_place(d, z, f)
    name = d.name("last", "current", "_z")
    return [
        f"self.{name} = {z}",
        d.pick([f"self.{name} *= {f.multiplier}", f"self.{name} = self.{name} * {f.multiplier}"]),
        f"{z} = self.{name}",
    ]


@mechanism("classes")
def attribute_scaled_by_own_method(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return tensor_held_by_an_object(d, z, f)
    attribute, name = d.name("last", "current"), d.name("rescale_last", "_apply")
    d.methods.append(block(f"def {name}(self, c):", [d.pick([f"self.{attribute} *= c", f"self.{attribute} = self.{attribute} * c"])]))
    return [f"self.{attribute} = {z}", f"self.{name}({f.multiplier})", f"{z} = self.{attribute}"]


# both at once: each gets the factor --------------------------------------------------------------------------------------------


@mechanism("loops", "pair")
def both_in_place_in_a_loop(d: Draft, z: str, f: Factor) -> Lines:
    one = d.name("t", "one")
    return block(f"for {one} in {d.pick(['(q, k)', '[q, k]', 'q, k'])}:", [d.in_place(one, f)])


@mechanism("containers", "pair")
def both_in_a_comprehension(d: Draft, z: str, f: Factor) -> Lines:
    brackets = d.pick(["[{}]", "({})", "tuple({})"])
    return ["q, k = " + brackets.format(f"t * {f.multiplier} for t in (q, k)")]


@mechanism("containers", "pair")
def both_zipped(d: Draft, z: str, f: Factor) -> Lines:
    if d.chance(0.5):
        return [f"q, k = [t * u for t, u in zip((q, k), ({f.multiplier}, {f.multiplier}))]"]
    return block(f"for t, u in zip((q, k), [{f.multiplier}] * 2):", ["t *= u"])


@mechanism("containers", "pair")
def both_through_a_dict(d: Draft, z: str, f: Factor) -> Lines:
    pack = d.name("state", "pack")
    return [
        f"{pack} = dict(q=q, k=k)",
        *block(f"for name in {pack}:", [f"{pack}[name] = {pack}[name] * {f.multiplier}"]),
        f'q, k = {pack}["q"], {pack}["k"]',
    ]


@mechanism("calls", "pair")
def both_mutated_by_a_helper(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale_both", "prepare")
    d.helper_somewhere(name, block(f"def {name}(a, b, c):", [d.in_place("a", Factor("c")), d.in_place("b", Factor("c"))]))
    return [f"{name}(q, k, {f.multiplier})"]


@mechanism("calls", "pair")
def both_returned_by_a_helper(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale_both", "prepare")
    d.helper_somewhere(name, block(f"def {name}(a, b, c):", ["return a * c, b * c"]))
    return [d.pick([f"q, k = {name}(q, k, {f.multiplier})", f"q, k = {name}(*(q, k), c={f.multiplier})"])]


@mechanism("generators", "pair")
def both_from_a_generator(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescaled", "each_scaled")
    d.helper_somewhere(name, block(f"def {name}(c, *tensors):", block("for t in tensors:", ["yield t * c"])))
    return [f"q, k = {name}({f.multiplier}, q, k)"]


@mechanism("aliases", "pair")
def both_in_one_assignment(d: Draft, z: str, f: Factor) -> Lines:
    return [f"q, k = {d.scaled('q', f)}, {d.scaled('k', f)}"]


@mechanism("closures", "pair")
def both_by_a_function_inside(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("rescale", "scaled")
    return [
        *block(f"def {name}(t):", [f"return t * {f.multiplier}"]),
        d.pick([f"q, k = {name}(q), {name}(k)", f"q, k = map({name}, (q, k))"]),
    ]


@mechanism("containers", "pair")
def both_starred(d: Draft, z: str, f: Factor) -> Lines:
    rest = d.name("rest", "others")
    return [f"q, *{rest} = [{d.scaled('q', f)}, {d.scaled('k', f)}, v]", f"k = {rest}[0]"]


# more of what is common --------------------------------------------------------------------------------------------------------


@mechanism("views")
def halves_of_a_split_in_place(d: Draft, z: str, f: Factor) -> Lines:
    a, b = d.name("lo", "first"), d.name("hi", "second")
    split = f"np.split({z}, 2, axis=-1)" if d.dialect.name == "numpy" else d.pick([f"{z}.chunk(2, dim=-1)", f"torch.chunk({z}, 2, dim=-1)"])
    if d.stage == "logits":  # of odd length
        return view_in_place(d, z, f)
    return [f"{a}, {b} = {split}", f"{a} *= {f.multiplier}", f"{b} *= {f.multiplier}"]


@mechanism("views", "none")
def indexed_by_a_list_is_a_copy(d: Draft, z: str, f: Factor) -> Lines:
    copy = d.name("picked", "rows")
    return [f"{copy} = {z}[[0, 1]]", d.in_place(copy, f)]


@mechanism("loops")
def loop_in_a_loop_left(d: Draft, z: str, f: Factor) -> Lines:
    return block("for _ in range(1):", block("for _ in range(5):", [d.apply(z, f), "break"]))


@mechanism("loops", "none")
def while_continue(d: Draft, z: str, f: Factor) -> Lines:
    n = d.name("n", "step")
    return [f"{n} = 0", *block(f"while {n} < 2:", [f"{n} += 1", "continue", d.apply(z, f)])]


@mechanism("loops")
def while_else(d: Draft, z: str, f: Factor) -> Lines:
    n = d.name("n", "step")
    return [f"{n} = 0", *block(f"while {n} < 2:", [f"{n} += 1"]), *block("else:", [d.apply(z, f)])]


@mechanism("exceptions")
def optional_import(d: Draft, z: str, f: Factor) -> Lines:
    name = d.name("fast_kernels", "fused_ops")
    d.helper([*block("try:", [f"import {name}"]), *block("except ImportError:", [f"{name} = None"])])
    return [*block(f"if {name} is None:", [d.apply(z, f)]), *block("else:", [f"{z} = {name}.rescale({z}, {f.multiplier})"])]


@mechanism("exceptions", "some")
def raised_on_some_paths(d: Draft, z: str, f: Factor) -> Lines:
    flag = d.flag()
    d.condition = f"not {flag}"
    return [*block("try:", [*block(f"if {flag}:", ['raise ValueError("x")']), d.apply(z, f)]), *block("except ValueError:", ["pass"])]


@mechanism("exceptions")
def handler_and_body_alike(d: Draft, z: str, f: Factor) -> Lines:
    flag = d.flag()
    raising = block(f"if {flag}:", ['raise ValueError("x")'])
    return [*block("try:", [*raising, d.apply(z, f)]), *block("except ValueError:", [d.apply(z, f)])]


@mechanism("plain")
def scalar_built_up(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("factor", "total")
    build = d.pick([f"{c} *= {f.multiplier}", f"{c} = {c} * {f.multiplier}", f"{c} /= 1.0 / {f.multiplier}"])
    return [f"{c} = 1.0", build, f"{z} = {z} * {c}"]


@mechanism("plain")
def factor_of_a_wrapped_number(d: Draft, z: str, f: Factor) -> Lines:
    wrap = d.pick(["float({})", "np.float64({})"] if d.dialect.name == "numpy" else ["float({})", "torch.tensor({})"])
    return [f"{z} = {z} * {wrap.format(f.multiplier)}"]


@mechanism("plain")
def factor_cancelled_and_applied(d: Draft, z: str, f: Factor) -> Lines:
    return [d.pick([f"{z} = {z} * 2.0 * {f.multiplier} / 2.0", f"{z} = ({z} / 4.0) * ({f.multiplier} * 4.0)"])]


@mechanism("plain")
def negated_twice(d: Draft, z: str, f: Factor) -> Lines:
    return [f"{z} = -({d.scaled(z, f)})", f"{z} = -{z}"]


@mechanism("classes", nested=False)
def hook_filled_in_by_a_subclass(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return callable_object(d, z, f)
    name = d.name("rescale", "prepare")
    d.methods.append(block(f"def {name}(self, t, c):", ["raise NotImplementedError"]))
    d.subclass.append(block(f"def {name}(self, t, c):", ["return t * c"]))
    return [f"{z} = self.{name}({z}, {f.multiplier})"]


@mechanism("classes", nested=False)
def attribute_changed_before_use(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return attribute_changed_by_a_method(d, z, f)
    attribute, name = d.name("factor", "temperature"), d.name("configure", "set_factor")
    d.init.append(f"self.{attribute} = 1.0")
    d.methods.append(block(f"def {name}(self, value):", [f"self.{attribute} = value"]))
    return [f"self.{name}({f.multiplier})", f"{z} = {z} * self.{attribute}"]


@mechanism("classes", "none", nested=False)
def attribute_reset_before_use(d: Draft, z: str, f: Factor) -> Lines:
    if not d.in_class:
        return attribute_reset_by_a_method(d, z, f)
    attribute, name = d.name("factor", "temperature"), d.name("reset", "clear")
    d.init.append(f"self.{attribute} = 0.5")
    d.methods.append(block(f"def {name}(self):", [f"self.{attribute} = 1.0"]))
    return [f"self.{name}()", f"{z} = {z} * self.{attribute}"]


@mechanism("branches", nested=False)
def keyword_scale_of_the_caller(d: Draft, z: str, f: Factor) -> Lines:
    c = d.name("scale", "softmax_scale")
    d.parameters.append(Parameter(c, "None", ("default",)))
    return [f"{c} = {c} if {c} is not None else {f.multiplier}", f"{z} = {z} * {c}"]


@mechanism("branches", "some")
def two_flags(d: Draft, z: str, f: Factor) -> Lines:
    first, second = d.flag(), d.flag()
    d.condition = f"{first} and {second}"
    return block(f"if {first}:", block(f"if {second}:", [d.apply(z, f)]))
