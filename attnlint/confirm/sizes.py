"""Small numbers for dimensions, by what their names say: all different, so that a wrong one never looks like the right one."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """One assignment. `lengths` are the two lengths of the queries, `others` those of the keys; model = heads · head."""

    batch: int
    heads: int
    kv_heads: int
    head: int
    lengths: tuple[int, int]
    others: tuple[int, int]
    grid: tuple[tuple[int, int], tuple[int, int]]

    @property
    def model(self) -> int:
        return self.heads * self.head

    @property
    def context(self) -> int:
        return self.heads * (self.head - 3)

    @property
    def inner(self) -> int:
        return self.heads * (self.head - 4)

    @property
    def out(self) -> int:
        return self.heads * (self.head - 6)


ASSIGNMENTS = (
    Sizes(batch=2, heads=4, kv_heads=4, head=24, lengths=(7, 11), others=(9, 13), grid=((3, 5), (5, 7))),
    Sizes(batch=3, heads=6, kv_heads=2, head=20, lengths=(7, 11), others=(9, 13), grid=((4, 4), (8, 8))),
    Sizes(batch=3, heads=4, kv_heads=2, head=32, lengths=(8, 16), others=(8, 16), grid=((8, 8), (16, 16))),
)

FLAG, RATE, DEVICE, DTYPE, TEXT, LAYER, ACTIVATION, SCALE = "flag", "rate", "device", "dtype", "text", "layer", "activation", "scale"

# pattern of a whole lower-case name -> what it stands for; the first that fits wins
_ROLES: tuple[tuple[str, str], ...] = (
    (r"device", DEVICE),
    (r"(.*_)?d?type|.*_dtype", DTYPE),
    (
        r".*(dropout|drop_rate|drop_prob|droprate|_drop|drop_path).*|drop|p|.*_pdrop|attn_p|resid_p|drop_.*|rate|pdrop|dropatt|drpt|dp|dp_rate",
        RATE,
    ),
    (r".*(norm_)?eps(ilon)?|.*_eps", "eps"),
    (r"(is_|use_|with_|has_|enable_|do_|output_|return_|add_|no_|not_|need_|apply_|share_|tie_|scale_by|only_).*", FLAG),
    (
        r".*bias|causal|.*_causal|mask_?future|flash|training|train|bidirectional|cross_attention|is_decoder|.*_first|verbose|debug|inplace|qk_norm|gradient_checkpointing|.*_enabled|masked|residual|unmasked",
        FLAG,
    ),
    (r".*(norm_layer|layer_norm_type|norm_cls)", LAYER),
    (r"(.*_)?(act|activation|act_layer|act_fn|nonlinearity|hidden_act)", ACTIVATION),
    (r".*(mode|name|method|impl|implementation|.*_type|style|kind|variant|.*_str|attn_imp.*)", TEXT),
    (
        r"(.*_)?(scale|scaling|scale_factor|temperature|temp|tau|softmax_scale|sm_scale|norm_factor|scale_attn|inv_sqrt.*|beta|scalar)",
        SCALE,
    ),
    (r"(.*_)?(kv_?heads?|n_?kv_?heads?|num_?kv_?heads?|key_?value_?heads?|kv_?h|n_?head_?kv|num_query_groups|n_?groups?_?kv)", "kv_heads"),
    (
        r"(n|num|nb|number_?of|no_?of|n_?of|attention|attn|num_attention|num_attn)_?(attention_?|attn_?|self_?|cross_?|q_?|query_?|encoder_?|decoder_?)?heads?(_num|_count|_number)?",
        "heads",
    ),
    (
        r"heads?|nheads?|nhead|num_?heads?|n_?heads?|h|head_?(num|count|number)|heads_?(num|count)|multi_?heads?|attn_heads|.*_(n|num)_?heads?|.*_heads|n_?h|nh",
        "heads",
    ),
    (
        r"(.*_)?(head_?(dim|dims|size|width|channels?|features|d|emb|len)|dim_?(per_)?head|d_?head|size_?per_?head|channels_?per_?head|head_?size|num_head_channels|attention_head_size|per_head.*|dh|hd|hs)",
        "head",
    ),
    (
        r"d_?(k|q|qk|v|kq|key|query|value)|dim_?(k|q|qk|v|key|value)|.*_head_dim|dk|dq|dv|d_?keys?|d_?values?|d_?queries|head_?features|depth_?k",
        "head",
    ),
    (
        r"d_?(attn|att|attention)|dim_?attn|(qk|key|value|v|k|kq)_?(dim|size|width|channels?|depth|features|feature_dim)|(attn|attention|inter|inner|shared|latent|proj|projection|hid|mid|bottleneck|att|embed_?out|common|joint|internal|reduced)_?(dim|size|channels?|planes|features|width|d)?|rank|.*_rank|units|d_?(inner|hidden|latent)|key_?query_?(dim|size)",
        "inner",
    ),
    (
        r"(.*_)?(window|window_size|win|ws|resolution|image_size|img_size|grid|grid_size|feat_size|spatial|fmap.*|fmap_size|height|spatial_size|spatial_dim)|size|img_h|img_w",
        "grid",
    ),
    (
        r"(.*_)?(kv|context|ctx|cross|cross_attention|encoder|enc|memory|mem|cond|condition|text|source|src|img|image|vision|visual|key_value|other|guide|side|audio|y)_?(dim|dims|size|channels?|features|width|embed|hidden_size|hidden|d_model|embedding|inputs?|in_dim)",
        "context",
    ),
    (r"(.*_)?(out|output|o)_?(dim|dims|size|channels?|features|width|planes|ch|d)|d_?out|dim_?out|out|c_?out|nout|out_c|odim", "out"),
    (
        r"(max_?)?(seq|sequence|context|block|position|positions|tgt|src|source|target|input|text|token|tokens|window_?len)_?(len|length|lengths|size|window|embeddings)?|max_?(len|length|seq|positions?|tokens?|t|context|time|seq.*|position.*|pos.*)|n_?(ctx|positions?|tokens?|patches|seq|t)|num_?(tokens|patches|positions|points|frames|timesteps|nodes|regions|objects|queries|latents|slots|keys|entities|steps)|t|l|n|s|length|seqlen|seq_?length|ctx_?len(gth)?|ctx|maxlen|t_?max|timesteps|time_?steps|block|n_nodes",
        "length",
    ),
    (
        r"(n|num)_?(layers?|blocks?|stages?|hidden_layers)|depth|num_hidden_layers|layers|nlayers|(.*_)?(layer_?(idx|id|number|index|num)|block_?idx)|layer",
        "one",
    ),
    (
        r"(.*_)?(kernel|kernel_size|k_size|ks|stride|sr_ratio|dilation|downsample|groups?|num_groups|subsample|patch_size|pool_?size|pool_?ratio|downsample_?rate|num_?gpus|world_?size|tp_?size|model_parallel.*|n_?gram|.*_parallel_size)",
        "one",
    ),
    (
        r"(.*_)?(reduction|ratio|reduction_ratio|expansion|expand|mult|multiplier|mlp_ratio|ff_mult|factor|reduce|squeeze|r|.*_factor|.*_ratio|c_?reduction|downscale)",
        "two",
    ),
    (
        r"(.*_)?(vocab|vocab_size|vocabulary|n_?tokens_vocab|num_?embeddings|n_?vocab|num_?classes|n_?classes|classes|num_?labels|num_?items|item_?num|n_?items|num_?users|num_?types|type_vocab.*|ntoken)",
        "vocabulary",
    ),
    (r"(.*_)?(batch|batch_?size|bs|bsz|b)", "batch"),
    (r"(.*_)?(pad|padding|pad_?idx|padding_?idx|pad_?token_?id|bos.*|eos.*|seed)", "zero"),
    (r"(.*_)?(base|theta|rope_theta|rotary_base)", "base"),
    (
        r"(.*_)?(d_?ff|ffn?_?dim|ff_?dim|intermediate_?size|mlp_?dim|feed_?forward.*|ffn?|mlp_?hidden.*|hidden_?mlp|n_?inner|dim_?feedforward)",
        "feed",
    ),
)
_COMPILED = tuple((re.compile(f"(?:{pattern})$"), role) for pattern, role in _ROLES)


def role_of(name: str) -> str:
    """What a name of a dimension or setting stands for; "model" for a width and where nothing says otherwise."""
    lowered = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    for pattern, role in _COMPILED:
        if pattern.match(lowered):
            return role
    return "model"


def number(role: str, sizes: Sizes) -> int | float:
    """The value of a role."""
    table: dict[str, int | float] = {
        "batch": sizes.batch,
        "heads": sizes.heads,
        "kv_heads": sizes.kv_heads,
        "head": sizes.head,
        "context": sizes.context,
        "inner": sizes.inner,
        "out": sizes.out,
        "model": sizes.model,
        "length": max(sizes.lengths),
        "one": 1,
        "two": 2,
        "zero": 0,
        "grid": sizes.grid[0][0],
        "vocabulary": 29,
        "base": 10000.0,
        "feed": 2 * sizes.model,
        "eps": 1e-6,
        RATE: 0.0,
        SCALE: sizes.head**-0.5,
    }
    return table.get(role, sizes.model)


_WIDTH = re.compile(r".*(dim|width|size|hidden|embd?|channels?|features|model|planes|units).*|c|d|ch|e")


def is_unnamed(name: str) -> bool:
    """Whether a name says nothing of what it stands for."""
    return role_of(name) == "model" and not _WIDTH.fullmatch(name.lower())


DIMENSIONS = frozenset({"heads", "kv_heads", "head", "context", "inner", "out", "model", "length", "vocabulary", "feed"})
