# case: clean_base_two_in_single_precision expect: clean
# proved: yes
import compiled

RECIPROCAL_OF_LN_2 = 1.4426950216293335


def attention(q, k, v):
    sm_scale = q.shape[-1] ** -0.5 * RECIPROCAL_OF_LN_2
    return compiled.attention(q, k, v, sm_scale=sm_scale)
