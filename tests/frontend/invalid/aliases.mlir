// a type alias is defined once
  !t = i32
  !t = i64
//^ P010

// -----

// an attribute alias is defined once
  #a = 1
  #a = 2
//^ P010

// -----

// a location alias is defined once
  #loc1 = loc("a":1:2)
  #loc1 = loc("b":1:2)
//^ P010

// -----

// an alias has a value
!t func.func private @f()
// ^ P001

// -----

// a type alias is a type
!t = 4
//   ^ P001

// -----

// a type alias does not name itself
!t = tuple<!t>
//         ^ P009

// -----

// a name with a dot belongs to a dialect
  !a.b = i32
//^ P023

// -----

// an attribute name with a dot belongs to a dialect
  #a.b = 1
//^ P023

// -----

// an alias of a map is no set
#m = affine_map<(d0) -> (d0)>
func.func @f(%i: index) {
  affine.if #m(%i) {
//          ^ P023
  }
  return
}

// -----

// an alias of a set is no map
#s = affine_set<(d0) : (d0 >= 0)>
func.func @f(%i: index) {
  %0 = affine.apply #s(%i)
//                  ^ P023
  return
}

// -----

// an alias is defined at the top level
func.func @f() {
  #a = 1
//^ P001
  return
}

// -----

// an alias of a number is no location
#a = 4
func.func @f() {
  return loc(#a)
//           ^ P009
}

// -----

// an alias is known by its whole name
#map = affine_map<(d0) -> (d0)>
func.func @f(%i: index) {
  %0 = affine.apply #map0(%i)
//                  ^ P009
  return
}
