/** Current rates, and the last hour. */
import type { Now, Rates } from '../../admin/console/api-types.ts'
import type { History } from '../../admin/console/history-types.ts'
import { usePoll } from '../api.ts'
import { Chart } from '../chart.tsx'
import { formatCount, formatDuration, formatPercent, formatRate } from '../format.ts'
import { NodeStrip } from '../node-strip.tsx'
import { Property } from '../property.tsx'

const POLL_INTERVAL_MS = 10_000

export function NowView({ now }: { readonly now: Now | undefined }) {
  const { data: history } = usePoll<History>('/api/history', POLL_INTERVAL_MS)
  return (
    <>
      <h1 class="hidden">Now</h1>
      {now === undefined ? <p class="quiet">Loading …</p> : <Figures rates={now.rates} />}
      {now !== undefined && <NodeStrip nodes={now.nodes} />}
      {history !== undefined && <Charts history={history} />}
      {now !== undefined && <TotalsSinceStart now={now} />}
    </>
  )
}

function Figures({ rates }: { readonly rates: Rates }) {
  const { perSecond, hitRatio, p50, p99, savedPerSecond, callsPerSecond, failuresPerSecond } = rates
  return (
    <section class="figures" aria-label="Last ten seconds">
      <Figure name="Requests" value={formatRate(perSecond)} unit="/s" />
      <Figure name="Hit ratio" value={formatPercent(hitRatio)} />
      <Figure name="Latency p50" value={formatDuration(p50)} />
      <Figure name="Latency p99" value={formatDuration(p99)} />
      <Figure name="Node time saved" value={formatDuration(savedPerSecond)} unit="/s" />
      <Figure name="Calls to nodes" value={formatRate(callsPerSecond)} unit="/s" />
      <Figure name="Failures (5xx)" value={formatRate(failuresPerSecond)} unit="/s" bad={failuresPerSecond > 0} />
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
    <section class="charts" aria-label="Last hour">
      <Chart
        title="Requests per second"
        least={1}
        at={at}
        format={formatRate}
        lines={[
          { label: 'requests', colour: 'accent', values: perSecond, fill: true },
          { label: 'calls to nodes', colour: 'warm', values: callsPerSecond },
        ]}
      />
      <Chart
        title="Hit ratio"
        least={1}
        at={at}
        top={1}
        format={(value) => formatPercent(value)}
        lines={[{ label: 'hits of cacheable requests', colour: 'accent', values: hitRatio, fill: true }]}
      />
      <Chart
        title="Latency"
        least={5}
        at={at}
        format={(value) => formatDuration(value)}
        lines={[
          { label: 'p50', colour: 'accent', values: p50 },
          { label: 'p99', colour: 'warm', values: p99 },
        ]}
      />
      <Chart
        title="Node time saved per second"
        least={10}
        at={at}
        format={(value) => formatDuration(value)}
        lines={[{ label: 'saved', colour: 'accent', values: savedPerSecond, fill: true }]}
      />
    </section>
  )
}

function TotalsSinceStart({ now: { totals, edge, cache } }: { readonly now: Now }) {
  const { requests, hits, cacheable, calls, saved, failures } = totals
  return (
    <section aria-labelledby="since">
      <h2 id="since">Since this replica started, {formatDuration(Math.floor(edge.uptime / 1000) * 1000)} ago</h2>
      <dl class="pairs columns">
        <Property name="Requests" value={formatCount(requests)} />
        <Property name="Cache hits" value={`${formatCount(hits)} of ${formatCount(cacheable)} cacheable requests`} />
        <Property name="Calls to nodes" value={formatCount(calls)} />
        <Property name="Node time saved" value={formatDuration(saved)} />
        <Property name="Failures (5xx)" value={formatCount(failures)} />
        <Property
          name="Cache store"
          value={
            !cache.enabled
              ? 'none: the cache is disabled'
              : cache.shared
                ? 'Redis, shared by all replicas'
                : 'memory of this process'
          }
        />
        <Property name="Address for clients" value={edge.url} />
      </dl>
    </section>
  )
}
