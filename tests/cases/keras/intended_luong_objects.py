# case: intended_luong_objects expect: clean
import keras
from keras import layers


class LastStep(layers.Layer):
    """The last state asks, all states answer and are averaged: multiplicative attention of a recurrent net."""

    def build(self, input_shape):
        self.turn = layers.Dense(input_shape[-1], use_bias=False)
        self.dot = layers.Dot(axes=[1, 2])
        self.normalise = layers.Activation("softmax")
        self.context = layers.Dot(axes=[1, 1])
        self.last = layers.Lambda(lambda t: t[:, -1, :])

    def call(self, states):
        h = self.last(states)
        score = self.dot([h, self.turn(states)])
        return self.context([states, self.normalise(score)])
