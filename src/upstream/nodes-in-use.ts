/** The nodes that the edge uses: those of the settings, but no workers of release 5.0, in which only the master has an API. */
import { isRelease5 } from '../core/node-call.ts'
import type { ConnectedNodes } from './connected-nodes.ts'
import type { ClusterLog, NodeSetting } from './options.ts'
import { createTopology, type ListedNode, type Topology } from './topology.ts'

interface NodesInUseOptions {
  readonly connected: Pick<ConnectedNodes, 'byName' | 'replace'>
  readonly releaseOf: (node: string) => string | undefined
  readonly clock: () => number
  /** Milliseconds without an answer after which a worker that the master does not list has no API. */
  readonly patience: number
  readonly log: ClusterLog
}

export class NodesInUse {
  readonly #options: NodesInUseOptions
  /** Replaced when the settings or the master's list change. */
  topology: Topology
  #withoutApi: ReadonlySet<string> = new Set()
  readonly #failingSince = new Map<string, number>()

  constructor(settings: readonly NodeSetting[], options: NodesInUseOptions) {
    this.#options = options
    this.topology = createTopology(settings)
  }

  /** Uses the nodes of changed settings. */
  replace(settings: readonly NodeSetting[]): void {
    this.topology = createTopology(settings, this.topology.list, this.#withoutApi)
    this.#options.connected.replace(settings.filter(({ name }) => !this.#withoutApi.has(name)))
  }

  takeList(list: readonly ListedNode[] | undefined): void {
    this.topology = createTopology(this.topology.settings, list, this.#withoutApi)
    this.update()
  }

  /**
   * To be called at intervals, and when a release was read. During an upgrade a worker of an earlier release has an API. One that
   * answers no more is upgraded, unless the master lists it with its earlier release.
   */
  update(): void {
    const { releaseOf, log } = this.#options
    const { settings, master } = this.topology
    const before = this.#withoutApi
    const workers = settings.filter(({ name }) => name !== master.name)
    const isOf5 = isRelease5(releaseOf(master.name))
    const names = isOf5
      ? workers.map(({ name }) => name).filter((name) => before.has(name) || this.#isWithout(name))
      : []
    // A reload may have replaced one such worker by another.
    if (names.length === before.size && names.every((name) => before.has(name))) return
    this.#withoutApi = new Set(names)
    if (names.length > 0) log('info', 'addresses of workers without an API are not used', { nodes: names })
    else log('info', 'addresses of all workers are used again', {})
    this.replace(settings)
  }

  #isWithout(name: string): boolean {
    const { connected, releaseOf, clock, patience } = this.#options
    if (isRelease5(releaseOf(name))) return true
    const { health, layout } = connected.byName.get(name) ?? {}
    const isFailing = health?.contact.failingSince !== undefined || layout?.value === undefined
    if (!isFailing) {
      this.#failingSince.delete(name)
      return false
    }
    const since = this.#failingSince.get(name) ?? clock()
    this.#failingSince.set(name, since)
    const isListed = this.topology.byName.get(name)?.version !== undefined
    return !isListed && clock() - since >= patience
  }
}
