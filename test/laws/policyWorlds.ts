/**
 * A moment after a failed attempt, as plain records; and what `step` should make of it, computed from the record alone, by another
 * road than the one of src.
 */
import { left } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { allFailed, expired, refused, retryable, partlyFailed } from '../../src/core/failure.ts'
import type { Failure } from '../../src/core/failure.ts'
import type { Progress } from '../../src/core/outcome.ts'
import {
  always,
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  notBefore,
} from '../../src/policy/retryPolicy.ts'
import type { RetryPolicy } from '../../src/policy/retryPolicy.ts'
import type { Step, Wait, step } from '../../src/policy/step.ts'

/** What is tested: `step`, or a mutant of it. */
export type StepFunction = typeof step

/** A delay-giving part. */
export interface Curve {
  readonly base: number
  readonly factor: number
  readonly cap: number | undefined
  readonly jitter: 'none' | 'outside the cap' | 'inside the cap'
}

/** A policy as a record: several curves, and limits. */
export interface Shape {
  readonly curves: ReadonlyArray<Curve>
  readonly retries: number | undefined
  readonly within: number | undefined
  readonly honours: boolean
  /** Reverses the order of the parts. */
  readonly reversed: boolean
}

/** The largest draw below 1. */
export const ALMOST_ONE: number = 1 - 2 ** -53

const policyOfCurve = ({ base, factor, cap, jitter }: Curve): RetryPolicy => {
  const capped = cap === undefined ? (policy: RetryPolicy) => policy : capDelay(cap)
  const inner = exponential({ base, factor })
  switch (jitter) {
    case 'none':
      return capped(inner)
    case 'outside the cap':
      return pipe(inner, capped, fullJitter)
    case 'inside the cap':
      return pipe(inner, fullJitter, capped)
  }
}

export const policyOf = (shape: Shape): RetryPolicy => {
  const parts = [
    ...shape.curves.map(policyOfCurve),
    ...(shape.retries === undefined ? [] : [limitRetries(shape.retries)]),
    ...(shape.within === undefined ? [] : [deadline(shape.within)]),
    ...(shape.honours ? [notBefore] : []),
  ]
  return (shape.reversed ? parts.toReversed() : parts).reduce(both, always)
}

/** The most that a curve may give after so many failures, in whole milliseconds. */
export const mostOf = (curve: Curve, failures: number): number => {
  let most = curve.base
  for (let i = 1; i < failures && most < 1e15; i++) most *= curve.factor
  return Math.floor(Math.min(most, curve.cap ?? Infinity))
}

/** What a curve gives for a draw: each whole number from 0 to its most is equally likely. */
const delayOf = (curve: Curve, failures: number, draw: number): number => {
  const most = mostOf(curve, failures)
  if (curve.jitter === 'none') return most
  if (curve.jitter === 'outside the cap') return Math.floor(draw * (most + 1))
  const uncapped = mostOf({ ...curve, cap: undefined }, failures)
  return Math.min(Math.floor(draw * (uncapped + 1)), curve.cap ?? Infinity)
}

/** The backoff of a shape: the longest delay, at least 1 ms. */
export const backoffOf = (shape: Shape, failures: number, draw: number): number =>
  Math.max(1, ...shape.curves.map((curve) => delayOf(curve, failures, draw)))

/** One part of a failure. `at` is a moment, as `Retry-After` gives it. */
export type Leaf = { readonly final: true } | { readonly final: false; readonly at: number | undefined }

/** How the leaves of a failure are held together. */
export type Nest = 'alone' | 'each' | 'some' | 'some of each' | 'each of some'

const failureOfLeaf = (leaf: Leaf): Failure => {
  if (leaf.final) return refused('status', { status: 404 })
  return retryable('status', leaf.at === undefined ? { status: 500 } : { status: 429, notBefore: leaf.at })
}

export const failureOf = (nest: Nest, leaves: ReadonlyArray<Leaf>): Failure => {
  const failures = leaves.map(failureOfLeaf)
  const each = (of: ReadonlyArray<Failure>): Failure =>
    allFailed(of.map((failure, i) => ({ sink: `sink ${i}`, failure })))
  const some = (of: ReadonlyArray<Failure>): Failure =>
    partlyFailed([{ _tag: 'Right', right: { sink: 'x' } }, ...of.map((failure) => left(failure))])
  const [first = refused('status')] = failures
  switch (nest) {
    case 'alone':
      return first
    case 'each':
      return each(failures)
    case 'some':
      return some(failures)
    case 'some of each':
      return some([first, each(failures)])
    case 'each of some':
      return each([first, some(failures)])
  }
}

/** The earliest moment at which some leaf may be tried; 0 for any time. */
const earliestOf = (leaves: ReadonlyArray<Leaf>): number =>
  Math.min(...leaves.flatMap((leaf) => (leaf.final ? [] : [leaf.at ?? 0])))

/** A moment after a failed attempt. */
export interface Moment {
  readonly shape: Shape
  /** Attempts that failed before this one. */
  readonly before: number
  readonly firstAttemptAt: number
  readonly now: number
  readonly draw: number
  readonly nest: Nest
  readonly leaves: ReadonlyArray<Leaf>
}

/** What a moment should lead to, from the record alone. */
export interface Expected {
  readonly retryable: boolean
  readonly backoff: number
  /** Whether `Retry-After` set the due time. */
  readonly held: boolean
  readonly due: number
  readonly deadline: number
  readonly exhausted: boolean
}

export const expectedOf = ({ shape, before, firstAttemptAt, now, draw, nest, leaves }: Moment): Expected => {
  const counted = nest === 'alone' ? leaves.slice(0, 1) : leaves
  const backoff = backoffOf(shape, before + 1, draw)
  const asked = shape.honours || nest.startsWith('each') ? earliestOf(counted) : 0
  return {
    retryable: counted.some((leaf) => !leaf.final),
    backoff,
    held: asked > now + backoff,
    due: Math.max(now + backoff, asked),
    deadline: firstAttemptAt + (shape.within ?? Infinity),
    exhausted: before >= (shape.retries ?? Infinity),
  }
}

/** Asks for the step of a moment. */
export const stepAt = (decide: StepFunction, moment: Moment): Step =>
  decide(
    policyOf(moment.shape),
    progressOf(moment.before),
    moment.firstAttemptAt,
    left(failureOf(moment.nest, moment.leaves)),
    moment.now,
    () => moment.draw,
  )

export const progressOf = (before: number): Progress | undefined =>
  before === 0 ? undefined : { attempts: before, lastFailure: expired(1, 0, refused('status')) }

export const waits = (after: Step): after is Wait => after._tag === 'Wait'
