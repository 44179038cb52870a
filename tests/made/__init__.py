"""Programs made at random, by area, and the engines that must agree on them."""
