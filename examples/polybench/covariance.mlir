// Covariance matrix of M attributes over N observations (the rows of data).
#own = affine_map<(i) -> (i)>
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @covariance(%data: !matrix, %cov: !matrix, %mean: !vector) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = memref.dim %data, %c0 : !matrix
  %M = memref.dim %data, %c1 : !matrix
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %N_int = arith.index_cast %N : index to i64
  %n = arith.sitofp %N_int : i64 to f64
  %freedom = arith.subf %n, %one : f64

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

  affine.for %i = 0 to %N {
    affine.for %j = 0 to %M {
      %x = affine.load %data[%i, %j] : !matrix
      %m = affine.load %mean[%j] : !vector
      %off = arith.subf %x, %m : f64
      affine.store %off, %data[%i, %j] : !matrix
    }
  }

  // The upper triangle, mirrored.
  affine.for %i = 0 to %M {
    affine.for %j = #own(%i) to %M {
      affine.store %zero, %cov[%i, %j] : !matrix
      affine.for %k = 0 to %N {
        %xi = affine.load %data[%k, %i] : !matrix
        %xj = affine.load %data[%k, %j] : !matrix
        %sum = affine.load %cov[%i, %j] : !matrix
        %product = arith.mulf %xi, %xj : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %cov[%i, %j] : !matrix
      }
      %sum = affine.load %cov[%i, %j] : !matrix
      %c = arith.divf %sum, %freedom : f64
      affine.store %c, %cov[%i, %j] : !matrix
      affine.store %c, %cov[%j, %i] : !matrix
    }
  }
  return
}
