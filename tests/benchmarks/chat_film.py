"""A made-up chest X-ray: ellipses, ribs and noise. It shows nobody."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

SIDE = 1024


def film(seed: int) -> Image.Image:
    """A frontal film of SIDE x SIDE."""
    random = np.random.default_rng(seed)
    shades = np.asarray(_organs()).astype(np.float64)
    for side in (-1, 1):
        for rib in range(9):
            x = np.linspace(0, 1, 300)
            y = 215 + rib * 68 + x**2 * 150 - 40 * np.sin(x * np.pi)
            points = list(zip(512 + side * (60 + x * 330), y, strict=True))
            shades += _stroke(points, width=20, blur=4) * 22
        clavicle = [(512 + side * 40, 250), (512 + side * 330, 170)]
        shades += _stroke(clavicle, width=26, blur=4) * 30
    for _ in range(120):  # vessels
        side, angle = random.choice([-1, 1]), random.uniform(-1.2, 1.2)
        length, thick = random.uniform(60, 220), int(random.integers(2, 7))
        x0, y0 = 512 + side * 90, 480 + random.uniform(-60, 60)
        to = (x0 + side * length * np.cos(angle), y0 + length * np.sin(angle))
        shades += _stroke([(x0, y0), to], width=thick, blur=3) * 10
    for vertebra in range(14):
        top = 150 + vertebra * 58
        shades[top : top + 44, 480:548] += 9
    soft = Image.fromarray(np.clip(shades, 0, 255).astype(np.uint8))
    shades = np.asarray(soft.filter(ImageFilter.GaussianBlur(3))).astype(np.float64)
    shades += random.normal(0, 3, shades.shape)
    return Image.fromarray(np.clip(shades, 0, 255).astype(np.uint8))


def _organs() -> Image.Image:
    image = Image.new("L", (SIDE, SIDE), 12)

    def blurred(radius: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
        made = image.filter(ImageFilter.GaussianBlur(radius))
        return made, ImageDraw.Draw(made)

    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle([60, 140, SIDE - 60, SIDE + 200], 260, fill=150)
    for left in (-60, SIDE - 220):  # shoulders
        pen.ellipse([left, 180, left + 280, 520], fill=150)
    pen.rectangle([430, 0, 600, 200], fill=150)
    image, pen = blurred(25)
    right = [(400, 190), (300, 230), (215, 400), (170, 640), (165, 800), (250, 770), (360, 740)]
    pen.polygon([*right, (440, 760), (455, 500), (450, 260)], fill=48)
    left_lung = [(625, 190), (725, 230), (810, 400), (855, 640), (865, 830), (770, 800)]
    pen.polygon([*left_lung, (700, 770), (640, 700), (585, 560), (575, 260)], fill=48)
    image, pen = blurred(14)
    pen.rectangle([462, 120, 566, 900], fill=188)
    pen.ellipse([420, 500, 750, 800], fill=192)
    image, pen = blurred(16)
    pen.ellipse([120, 760, 480, 1200], fill=190)
    pen.ellipse([600, 800, 900, 1200], fill=185)
    return blurred(9)[0]


def _stroke(points: list[tuple[float, float]], *, width: int, blur: int) -> npt.NDArray[np.float64]:
    layer = Image.new("L", (SIDE, SIDE), 0)
    ImageDraw.Draw(layer).line(points, fill=255, width=width)
    return np.asarray(layer.filter(ImageFilter.GaussianBlur(blur))) / 255
