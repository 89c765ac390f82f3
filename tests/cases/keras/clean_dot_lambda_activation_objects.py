# case: clean_dot_lambda_activation_objects expect: clean
# proved: yes
import keras
from keras import layers


class Objects(layers.Layer):
    """Every step is a layer object made in `build`."""

    def build(self, input_shape):
        width = input_shape[-1]
        self.dense_q, self.dense_k, self.dense_v = layers.Dense(width), layers.Dense(width), layers.Dense(width)
        self.compare = layers.Dot(axes=(2, 2))
        factor = 1 / width**0.5
        self.scale = layers.Lambda(lambda t: t * factor)
        self.normalise = layers.Activation("softmax")
        self.gather = layers.Dot(axes=(2, 1))

    def call(self, x):
        s = self.compare([self.dense_q(x), self.dense_k(x)])
        p = self.normalise(self.scale(s))
        return self.gather([p, self.dense_v(x)])
