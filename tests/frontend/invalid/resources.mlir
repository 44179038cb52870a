// a resource section closes
{-# dialect_resources: {}
//                       ^ P004

// -----

// a resource section has its bracket
func.func private @f() #-}
//                     ^ P001

// -----

// a resource has a key
func.func private @f() attributes {a = dense_resource<> : tensor<1xi32>}
//                                                    ^ P001

// -----

// a resource has a shaped type
func.func private @f() attributes {a = dense_resource<key> : i32}
//                                                           ^ P023

// -----

// a resource has a type
func.func private @f() attributes {a = dense_resource<key>}
//                                                        ^ P001
