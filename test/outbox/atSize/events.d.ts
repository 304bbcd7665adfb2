import type { Call } from '../../../src/event/call.ts'

export declare const eventOf: (number: number) => Call
export declare const numberIn: (body: string) => number
