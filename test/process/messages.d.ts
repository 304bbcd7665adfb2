import type { TrackCall } from '../../src/event/index.ts'

export declare const nameOf: (number: number) => string
export declare const callOf: (name: string) => TrackCall
export declare const WINDOW: number
export const keyOf: (name: string) => string
