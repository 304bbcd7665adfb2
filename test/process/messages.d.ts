export interface TrackCall {
  readonly type: 'track'
  readonly userId: string
  readonly event: string
  readonly messageId: string
  readonly timestamp: string
  readonly properties: Readonly<Record<string, unknown>>
}

export declare const nameOf: (number: number) => string
export declare const callOf: (name: string) => TrackCall
export declare const WINDOW: number
export const keyOf: (name: string) => string
