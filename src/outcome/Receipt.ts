/** What a sink hands back for something it delivered. Plain data: it can be stored and printed. */
export interface Receipt {
  /** The name of the sink that took it. */
  readonly sink: string
  /** The HTTP status, for sinks that speak HTTP. */
  readonly status?: number
}
