# case: clean_mean_pool_then_sdpa_wrapper expect: clean
import torch.nn.functional as F


def padded(q, k, v, lengths=None):
    """The library's default factor comes from the tensors themselves, whoever made them."""
    if lengths is None:
        return F.scaled_dot_product_attention(q, k, v)
    keep = (lengths[:, None] > 0)[:, None, None, :]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
