# case: clean_size_by_a_helper_of_the_package expect: clean
# proved: yes
import tensorflow as tf
from tensorflow import keras

from ...tf_utils import shape_list, stable_softmax


class Windows(keras.layers.Layer):
    def __init__(self, dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.head_size = num_heads, int(dim / num_heads)
        self.all_heads = self.num_heads * self.head_size
        self.query, self.key, self.value = (keras.layers.Dense(self.all_heads) for _ in range(3))

    def split(self, x):
        x = tf.reshape(x, shape_list(x)[:-1] + [self.num_heads, self.head_size])
        return tf.transpose(x, (0, 2, 1, 3))

    def call(self, hidden_states):
        key = self.split(self.key(hidden_states))
        value = self.split(self.value(hidden_states))
        scores = tf.matmul(self.split(self.query(hidden_states)), key, transpose_b=True)
        dk = tf.cast(shape_list(key)[-1], dtype=scores.dtype)
        context = tf.transpose(tf.matmul(stable_softmax(scores / tf.math.sqrt(dk), axis=-1), value), (0, 2, 1, 3))
        return tf.reshape(context, shape_list(context)[:-2] + [self.all_heads])
