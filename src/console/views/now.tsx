/** What happens now, and what happened in the last hour. */
import type { History, Now, Rates } from '../../admin/console/api-types.ts'
import { usePoll } from '../api.ts'
import { Chart } from '../chart.tsx'
import { count, percent, rate, time } from '../format.ts'
import { Pair } from '../pair.tsx'

const EVERY = 10_000

export function NowView({ now }: { readonly now: Now | undefined }) {
  const { data: history } = usePoll<History>('/api/history', EVERY)
  return (
    <>
      <h1 class="hidden">Now</h1>
      {now === undefined ? <p class="quiet">Asking the edge …</p> : <Figures rates={now.rates} />}
      {history !== undefined && <Charts history={history} />}
      {now !== undefined && <Since now={now} />}
    </>
  )
}

function Figures({ rates }: { readonly rates: Rates }) {
  const { perSecond, hitRatio, p50, p99, savedPerSecond, callsPerSecond, failuresPerSecond } = rates
  return (
    <section class="figures" aria-label="The last ten seconds">
      <Figure name="Requests" value={rate(perSecond)} unit="/s" />
      <Figure name="Hit ratio" value={percent(hitRatio)} />
      <Figure name="Latency p50" value={time(p50)} />
      <Figure name="Latency p99" value={time(p99)} />
      <Figure name="Manager time saved" value={time(savedPerSecond)} unit="/s" />
      <Figure name="Calls to the manager" value={rate(callsPerSecond)} unit="/s" />
      <Figure name="Failures" value={rate(failuresPerSecond)} unit="/s" bad={failuresPerSecond > 0} />
    </section>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly unit?: string
  readonly bad?: boolean
}

function Figure({ name, value, unit, bad = false }: FigureProps) {
  return (
    <div class={bad ? 'figure bad' : 'figure'}>
      <span class="figure-name">{name}</span>
      <span class="figure-value">
        {value}
        {unit !== undefined && <small>{unit}</small>}
      </span>
    </div>
  )
}

function Charts({ history }: { readonly history: History }) {
  const { at, perSecond, hitRatio, p50, p99, callsPerSecond, savedPerSecond } = history
  return (
    <section class="charts" aria-label="The last hour">
      <Chart
        title="Requests a second"
        least={1}
        at={at}
        format={rate}
        lines={[
          { label: 'answered', colour: 'accent', values: perSecond, fill: true },
          { label: 'calls to the manager', colour: 'warm', values: callsPerSecond },
        ]}
      />
      <Chart
        title="Hit ratio"
        least={1}
        at={at}
        top={1}
        format={(value) => percent(value)}
        lines={[{ label: 'of what may be kept', colour: 'accent', values: hitRatio, fill: true }]}
      />
      <Chart
        title="Latency"
        least={5}
        at={at}
        format={(value) => time(value)}
        lines={[
          { label: 'p50', colour: 'accent', values: p50 },
          { label: 'p99', colour: 'warm', values: p99 },
        ]}
      />
      <Chart
        title="Manager time saved a second"
        least={10}
        at={at}
        format={(value) => time(value)}
        lines={[{ label: 'saved', colour: 'accent', values: savedPerSecond, fill: true }]}
      />
    </section>
  )
}

function Since({ now: { sinceStart, edge, cache } }: { readonly now: Now }) {
  const { requests, hits, cacheable, calls, saved, failures } = sinceStart
  return (
    <section aria-labelledby="since">
      <h2 id="since">Since this replica started, {time(Math.floor(edge.uptime / 1000) * 1000)} ago</h2>
      <dl class="pairs columns">
        <Pair name="Requests" value={count(requests)} />
        <Pair name="Out of the cache" value={`${count(hits)} of ${count(cacheable)} that it may keep`} />
        <Pair name="Calls to the manager" value={count(calls)} />
        <Pair name="Manager time saved" value={time(saved)} />
        <Pair name="Failures (5xx)" value={count(failures)} />
        <Pair
          name="Kept in"
          value={
            !cache.enabled
              ? 'nothing: the cache is off'
              : cache.shared
                ? 'Redis, shared by all replicas'
                : 'the memory of this process'
          }
        />
        <Pair name="Clients reach it at" value={edge.url} />
      </dl>
    </section>
  )
}
