/** Upgrade tasks of agents: each has a number, and is done after a number of reads of its result. */

export interface Task {
  readonly id: number
  readonly agent: string
  readonly node: string
  readonly command: 'upgrade' | 'upgrade_custom'
  readonly created: Date
  /** The version that the agent gets; undefined: it keeps its own. */
  readonly version: string | undefined
  /** Reads of the result until the task is done. */
  left: number
  /** The reason of a failure; undefined: the upgrade succeeds. */
  readonly fails: string | undefined
  done: boolean
}

export interface UpgradeBehavior {
  /** Reads of the result that show the task in progress; default 1. */
  readonly reads?: number
  /** The reason for which upgrades fail; absent: they succeed. */
  readonly fails?: string
}

export class Tasks {
  readonly #byAgent = new Map<string, Task>()
  #last = 0
  behavior: UpgradeBehavior

  constructor(behavior: UpgradeBehavior) {
    this.behavior = behavior
  }

  of(agent: string): Task | undefined {
    return this.#byAgent.get(agent)
  }

  all(): Task[] {
    return [...this.#byAgent.values()]
  }

  /** Returns the new task; undefined if one of the agent is in progress. */
  create(task: Pick<Task, 'agent' | 'node' | 'command' | 'created' | 'version'>): Task | undefined {
    if (this.#byAgent.get(task.agent)?.done === false) return undefined
    this.#last += 1
    const { reads = 1, fails } = this.behavior
    const created = { ...task, id: this.#last, left: reads, fails, done: false }
    this.#byAgent.set(task.agent, created)
    return created
  }
}
