// Correlation matrix of M attributes over N observations (the rows of data).
// Attributes that hardly vary count as of deviation 1.
#last = affine_map<()[m] -> (m - 1)>
#after = affine_map<(i) -> (i + 1)>
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @correlation(%data: !matrix, %corr: !matrix, %mean: !vector,
                       %stddev: !vector) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = memref.dim %data, %c0 : !matrix
  %M = memref.dim %data, %c1 : !matrix
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %epsilon = arith.constant 0.1 : f64
  %N_int = arith.index_cast %N : index to i64
  %n = arith.sitofp %N_int : i64 to f64
  %root_n = math.sqrt %n : f64

  affine.for %j = 0 to %M {
    affine.store %zero, %mean[%j] : !vector
    affine.for %i = 0 to %N {
      %x = affine.load %data[%i, %j] : !matrix
      %sum = affine.load %mean[%j] : !vector
      %next = arith.addf %sum, %x : f64
      affine.store %next, %mean[%j] : !vector
    }
    %sum = affine.load %mean[%j] : !vector
    %m = arith.divf %sum, %n : f64
    affine.store %m, %mean[%j] : !vector
  }

  affine.for %j = 0 to %M {
    affine.store %zero, %stddev[%j] : !vector
    affine.for %i = 0 to %N {
      %x = affine.load %data[%i, %j] : !matrix
      %m = affine.load %mean[%j] : !vector
      %sum = affine.load %stddev[%j] : !vector
      %off = arith.subf %x, %m : f64
      %square = arith.mulf %off, %off : f64
      %next = arith.addf %sum, %square : f64
      affine.store %next, %stddev[%j] : !vector
    }
    %sum = affine.load %stddev[%j] : !vector
    %variance = arith.divf %sum, %n : f64
    %deviation = math.sqrt %variance : f64
    %is_small = arith.cmpf ole, %deviation, %epsilon : f64
    %safe = arith.select %is_small, %one, %deviation : f64
    affine.store %safe, %stddev[%j] : !vector
  }

  // Centre and reduce.
  affine.for %i = 0 to %N {
    affine.for %j = 0 to %M {
      %x = affine.load %data[%i, %j] : !matrix
      %m = affine.load %mean[%j] : !vector
      %s = affine.load %stddev[%j] : !vector
      %off = arith.subf %x, %m : f64
      %scale = arith.mulf %root_n, %s : f64
      %reduced = arith.divf %off, %scale : f64
      affine.store %reduced, %data[%i, %j] : !matrix
    }
  }

  // The upper triangle, mirrored.
  affine.for %i = 0 to #last()[%M] {
    affine.store %one, %corr[%i, %i] : !matrix
    affine.for %j = #after(%i) to %M {
      affine.store %zero, %corr[%i, %j] : !matrix
      affine.for %k = 0 to %N {
        %xi = affine.load %data[%k, %i] : !matrix
        %xj = affine.load %data[%k, %j] : !matrix
        %sum = affine.load %corr[%i, %j] : !matrix
        %product = arith.mulf %xi, %xj : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %corr[%i, %j] : !matrix
      }
      %c = affine.load %corr[%i, %j] : !matrix
      affine.store %c, %corr[%j, %i] : !matrix
    }
  }
  affine.store %one, %corr[symbol(%M) - 1, symbol(%M) - 1] : !matrix
  return
}
