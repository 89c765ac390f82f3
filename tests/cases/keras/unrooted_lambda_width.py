# case: unrooted_lambda_width expect: unrooted-scale line: 11 alt: 15
import keras
from keras import layers


class LambdaWidth(layers.Layer):
    def build(self, input_shape):
        width = input_shape[-1]
        self.q, self.k, self.v = layers.Dense(width), layers.Dense(width), layers.Dense(width)
        self.compare = layers.Dot(axes=(2, 2))
        self.shrink = layers.Lambda(lambda t: t / width)
        self.gather = layers.Dot(axes=(2, 1))

    def call(self, x):
        s = self.shrink(self.compare([self.q(x), self.k(x)]))
        return self.gather([keras.ops.softmax(s), self.v(x)])
