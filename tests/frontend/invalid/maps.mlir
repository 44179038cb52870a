// a product has a constant or symbolic factor
#m = affine_map<(i, j) -> (i * j)>
//                           ^ P022

// -----

// a divisor does not depend on a dimension
#m = affine_map<(i, j) -> (i floordiv j)>
//                           ^ P022

// -----

// a modulus does not depend on a dimension
#m = affine_map<(i, j) -> (i mod j)>
//                           ^ P022

// -----

// a name is declared
#m = affine_map<(i) -> (k)>
//                      ^ P022

// -----

// a name is declared once
#m = affine_map<(i, i) -> (i)>
//                  ^ P022

// -----

// a symbol is no dimension of the same name
#m = affine_map<(i)[i] -> (i)>
//                  ^ P022

// -----

// a map has an arrow
#m = affine_map<(i) i>
//                  ^ P001

// -----

// dimensions stand in parentheses
#m = affine_map<i -> (i)>
//              ^ P001

// -----

// results stand in parentheses
#m = affine_map<(i) -> i>
//                     ^ P001

// -----

// an operator has a right side
#m = affine_map<(i) -> (i +)>
//                         ^ P001

// -----

// an operator has a left side
#m = affine_map<(i) -> (* i)>
//                      ^ P001

// -----

// parentheses close
#m = affine_map<(i) -> ((i + 1>
//                            ^ P004

// -----

// numbers are integers
#m = affine_map<(i) -> (i + 1.5)>
//                          ^ P001

// -----

// a number fits 64 bits
#m = affine_map<(i) -> (i + 99999999999999999999)>
//                          ^ P012

// -----

// no comma divides dimensions from symbols
#m = (i, j), [M, N] -> (i)
//         ^ P001

// -----

// a constraint compares
#s = affine_set<(i) : (i)>
//                      ^ P001

// -----

// a constraint compares with what is known
#s = affine_set<(i) : (i > 0)>
//                       ^ P001

// -----

// a constraint is affine
#s = affine_set<(i, j) : (i * j >= 0)>
//                          ^ P022

// -----

// constraints stand in parentheses
#s = affine_set<(i) : i >= 0>
//                    ^ P001

// -----

// names in a set are declared
#s = affine_set<(i) : (n - i >= 0)>
//                     ^ P022

// -----

// a set of 2019 closes
#s = (i) : (i >= 0
//                ^ P004

// -----

// a map names no values
#m = affine_map<(i) -> (%i)>
//                      ^ P001

// -----

// a map of one function is not known in another
func.func @f(%i: index) {
  %0 = affine.apply affine_map<(i) -> (i)>(%i)
  %1 = affine.apply affine_map<(j) -> (i)>(%i)
//                                     ^ P022
  return
}

// -----

// a map of 2019 states one size per result
#tiled = (i, j) -> (i floordiv 4, j, i mod 4) size (10, 20)
//                                                 ^ P022
