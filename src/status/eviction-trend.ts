/** Whether a store lacks memory. */

const SAMPLES_PER_MINUTE = 4
/** Evictions are steady if they last so long. */
const MINUTES = 5
/** Evictions in five minutes. Fewer cost nothing that a client notices. */
const MIN_EVICTIONS = 100
/** Evictions for each added entry. */
const MIN_SHARE = 0.5
/** Of both, the part below which the evictions are over. */
const END_SHARE = 0.5

/** Since the store started. */
interface StoreCounts {
  /** Entries that could be served, and were removed because of a limit of memory. */
  readonly evicted: number
  /** Entries that were added. */
  readonly added: number
}

/** Whether a store evicts steadily for lack of memory: compares its counts over the last five minutes. */
export class EvictionTrend {
  /** The newest is the last. */
  #samples: readonly StoreCounts[] = []
  /**
   * Begins when each of the last five minutes has evictions, which are 100 or more and at least half of what was added.
   * Ends when they are less than half of that.
   */
  isSteady = false

  /** Takes the counts each `SAMPLE_INTERVAL_MS`. */
  sample(counts: StoreCounts): void {
    const hasRestarted = counts.evicted < (this.#samples.at(-1)?.evicted ?? 0)
    const samples = hasRestarted ? [counts] : [...this.#samples, counts].slice(-MINUTES * SAMPLES_PER_MINUTE - 1)
    this.#samples = samples
    const [first = counts] = samples
    const evicted = counts.evicted - first.evicted
    const share = evicted / Math.max(1, counts.added - first.added)
    this.isSteady = this.isSteady
      ? evicted >= MIN_EVICTIONS * END_SHARE && share >= MIN_SHARE * END_SHARE
      : evicted >= MIN_EVICTIONS && share >= MIN_SHARE && evictsEachMinute(samples)
  }
}

function evictsEachMinute(samples: readonly StoreCounts[]): boolean {
  const minutes = samples.filter((_, at) => at % SAMPLES_PER_MINUTE === 0)
  return (
    minutes.length > MINUTES &&
    minutes.every(({ evicted }, at) => at === 0 || evicted > (minutes[at - 1]?.evicted ?? evicted))
  )
}
