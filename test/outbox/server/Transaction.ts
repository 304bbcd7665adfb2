/** A transaction of the host: what was put into it is there when it is committed, and never if it is rolled back. */
export interface Transaction {
  readonly add: (task: () => void) => void
  readonly commit: () => void
  readonly rollBack: () => void
}

export const begin = (): Transaction => {
  let tasks: Array<() => void> = []
  return {
    add: (task) => {
      tasks.push(task)
    },
    commit: () => {
      const all = tasks
      tasks = []
      for (const task of all) task()
    },
    rollBack: () => {
      tasks = []
    },
  }
}
