/** Situations that the worlds must reach, or the laws test little. */
export const nothingReached = () => ({
  worlds: 0,
  closedWhileUntold: 0,
  failed: 0,
  saidKept: 0,
  saidKeptAfterFailures: 0,
  waitedToTake: 0,
  tookRetries: 0,
  crashedWhileWriting: 0,
  crashedUntold: 0,
  restored: 0,
  restoredSeveralLanes: 0,
  restoredOfSeveralParts: 0,
  spoilt: 0,
  handedBack: 0,
  handedBackARest: 0,
})

export type Reached = ReturnType<typeof nothingReached>
