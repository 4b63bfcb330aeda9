;; The arithmetic of one optimizer step over flat float32 tensors in the host's memory: SIMD of four
;; lanes, one thread. Addresses are bytes, counts are floats and multiples of 16: tensors are padded
;; with zeros, on which each of these functions has no effect. No operation is fused or reordered,
;; so every engine on every processor computes the same bits.
(module
  (import "host" "memory" (memory 1 65536))

  ;; The sum of squares in float64. Element i is added to lane i mod 8, in order; the lanes are then
  ;; added as ((0+4)+(2+6)) + ((1+5)+(3+7)). The square of a finite float32 is finite in float64 and
  ;; so is any sum of them, so the result is finite exactly where every element is.
  (func (export "sumOfSquares") (param $at i32) (param $count i32) (result f64)
    (local $end i32)
    (local $x v128) (local $part v128)
    (local $s01 v128) (local $s23 v128) (local $s45 v128) (local $s67 v128)
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))

        (local.set $x (v128.load (local.get $at)))
        (local.set $part (f64x2.promote_low_f32x4 (local.get $x)))
        (local.set $s01
          (f64x2.add (local.get $s01) (f64x2.mul (local.get $part) (local.get $part))))
        (local.set $part (f64x2.promote_low_f32x4 (i8x16.shuffle
          8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15 (local.get $x) (local.get $x))))
        (local.set $s23
          (f64x2.add (local.get $s23) (f64x2.mul (local.get $part) (local.get $part))))

        (local.set $x (v128.load offset=16 (local.get $at)))
        (local.set $part (f64x2.promote_low_f32x4 (local.get $x)))
        (local.set $s45
          (f64x2.add (local.get $s45) (f64x2.mul (local.get $part) (local.get $part))))
        (local.set $part (f64x2.promote_low_f32x4 (i8x16.shuffle
          8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15 (local.get $x) (local.get $x))))
        (local.set $s67
          (f64x2.add (local.get $s67) (f64x2.mul (local.get $part) (local.get $part))))

        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br $next)))
    (local.set $x (f64x2.add
      (f64x2.add (local.get $s01) (local.get $s45))
      (f64x2.add (local.get $s23) (local.get $s67))))
    (f64.add
      (f64x2.extract_lane 0 (local.get $x))
      (f64x2.extract_lane 1 (local.get $x))))

  ;; into += from
  (func (export "add") (param $into i32) (param $from i32) (param $count i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $into) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $into) (local.get $end)))
        (v128.store (local.get $into)
          (f32x4.add (v128.load (local.get $into)) (v128.load (local.get $from))))
        (v128.store offset=16 (local.get $into)
          (f32x4.add (v128.load offset=16 (local.get $into)) (v128.load offset=16 (local.get $from))))
        (local.set $into (i32.add (local.get $into) (i32.const 32)))
        (local.set $from (i32.add (local.get $from) (i32.const 32)))
        (br $next))))

  ;; One step of AdamW:
  ;;   g = gradient × clip
  ;;   m = m + (g − m) × gainM
  ;;   v = v × keepV + g × g × gainV
  ;;   p = p × keepP − rate × m ÷ (√v × correctV + epsilon)
  ;; where gainM = 1 − β₁, keepV = β₂, gainV = 1 − β₂, keepP = 1 − lr × decay,
  ;; rate = lr ÷ (1 − β₁ᵗ), correctV = 1 ÷ √(1 − β₂ᵗ).
  (func (export "adamw")
    (param $p i32) (param $gradient i32) (param $m i32) (param $v i32) (param $count i32)
    (param $clip f32) (param $gainM f32) (param $keepV f32) (param $gainV f32)
    (param $keepP f32) (param $rate f32) (param $correctV f32) (param $epsilon f32)
    (local $end i32)
    (local $clips v128) (local $gainsM v128) (local $keepsV v128) (local $gainsV v128)
    (local $keepsP v128) (local $rates v128) (local $correctsV v128) (local $epsilons v128)
    (local $g v128) (local $newM v128) (local $newV v128)
    (local.set $clips (f32x4.splat (local.get $clip)))
    (local.set $gainsM (f32x4.splat (local.get $gainM)))
    (local.set $keepsV (f32x4.splat (local.get $keepV)))
    (local.set $gainsV (f32x4.splat (local.get $gainV)))
    (local.set $keepsP (f32x4.splat (local.get $keepP)))
    (local.set $rates (f32x4.splat (local.get $rate)))
    (local.set $correctsV (f32x4.splat (local.get $correctV)))
    (local.set $epsilons (f32x4.splat (local.get $epsilon)))
    (local.set $end (i32.add (local.get $p) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $p) (local.get $end)))
        (local.set $g (f32x4.mul (v128.load (local.get $gradient)) (local.get $clips)))

        (local.set $newM (v128.load (local.get $m)))
        (local.set $newM (f32x4.add (local.get $newM)
          (f32x4.mul (f32x4.sub (local.get $g) (local.get $newM)) (local.get $gainsM))))
        (v128.store (local.get $m) (local.get $newM))

        (local.set $newV (f32x4.add
          (f32x4.mul (v128.load (local.get $v)) (local.get $keepsV))
          (f32x4.mul (f32x4.mul (local.get $g) (local.get $g)) (local.get $gainsV))))
        (v128.store (local.get $v) (local.get $newV))

        (v128.store (local.get $p) (f32x4.sub
          (f32x4.mul (v128.load (local.get $p)) (local.get $keepsP))
          (f32x4.div
            (f32x4.mul (local.get $rates) (local.get $newM))
            (f32x4.add
              (f32x4.mul (f32x4.sqrt (local.get $newV)) (local.get $correctsV))
              (local.get $epsilons)))))

        (local.set $p (i32.add (local.get $p) (i32.const 16)))
        (local.set $gradient (i32.add (local.get $gradient) (i32.const 16)))
        (local.set $m (i32.add (local.get $m) (i32.const 16)))
        (local.set $v (i32.add (local.get $v) (i32.const 16)))
        (br $next)))))
