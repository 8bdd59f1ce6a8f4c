/** Statistics of a node: events and alerts by hour, averages, and the counters of two daemons. */
import type { SimNode, World } from '../../model.ts'
import { type Random, randomFor } from '../random.ts'
import { midnight } from '../times.ts'

const DAY = 86_400_000
const KEPT_DAYS = 30
/** Seconds between two writes of the counters. */
const REFRESH = 5

const ALERTS = [
  { sigid: 502, level: 3 },
  { sigid: 5702, level: 5 },
  { sigid: 1002, level: 4 },
  { sigid: 550, level: 7 },
] as const

/** Returns the complete and begun hours of one day (UTC); undefined if there is no file for the day. */
export function hoursOf(world: World, node: SimNode, day: Date): unknown[] | undefined {
  const today = midnight(world.now())
  const age = (today.getTime() - midnight(day).getTime()) / DAY
  if (age < 0 || age > KEPT_DAYS) return undefined
  const hours = age === 0 ? world.now().getUTCHours() + 1 : 24
  return Array.from({ length: hours }, (_, hour) => {
    const random = randomFor(world.seed, 'hour', node.name, midnight(day).getTime(), hour)
    const alerts = ALERTS.map((alert) => ({ ...alert, times: random.int(0, 40) }))
    return {
      hour,
      alerts,
      totalAlerts: alerts.reduce((sum, { times }) => sum + times, 0),
      events: random.int(300, 9000),
      syscheck: random.int(0, 60),
      firewall: random.int(0, 20),
    }
  })
}

/** Returns the average number of events for each hour of a day. */
export function hourly(world: World, node: SimNode): { averages: number[]; interactions: number } {
  const random = randomFor(world.seed, 'hourly', node.name)
  return { averages: averages(random), interactions: KEPT_DAYS }
}

/** Returns the averages for each day of the week, Sunday first. */
export function weekly(world: World, node: SimNode): Record<string, { hours: number[]; interactions: number }> {
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
  return Object.fromEntries(
    days.map((day) => [day, { hours: averages(randomFor(world.seed, 'weekly', node.name, day)), interactions: 4 }]),
  )
}

function averages(random: Random): number[] {
  return Array.from({ length: 24 }, (_, hour) => 200 + random.int(0, 300) + (hour > 7 && hour < 19 ? 900 : 0))
}

const decoded = ['syscheck', 'syscollector', 'rootcheck', 'sca', 'hostinfo', 'winevt'] as const
const queues = [...decoded, 'event', 'rule_matching', 'alerts', 'firewall', 'statistical', 'archives'] as const

/** Counters of the analysis daemon, which writes them every few seconds. */
export function analysisCounters(world: World, node: SimNode): Record<string, number> {
  const random = refreshed(world, node, 'analysisd')
  const counters: Record<string, number> = { total_events_decoded: 0 }
  let total = 0
  for (const name of decoded) {
    const events = random.int(0, 40)
    total += events
    counters[`${name}_events_decoded`] = events
    counters[`${name}_edps`] = Math.floor(events / REFRESH)
  }
  const other = random.int(50, 900)
  total += other
  Object.assign(counters, {
    total_events_decoded: total,
    other_events_decoded: other,
    other_events_edps: Math.floor(other / REFRESH),
    events_processed: total,
    events_edps: Math.floor(total / REFRESH),
    events_received: total,
    events_dropped: 0,
    alerts_written: random.int(0, 30),
    firewall_written: 0,
    fts_written: random.int(0, 2),
  })
  for (const name of queues) {
    counters[`${name}_queue_usage`] = random.chance(0.1) ? random.int(1, 20) / 100 : 0
    counters[`${name}_queue_size`] = 16384
  }
  return counters
}

/** Counters of the daemon for agent connections; cumulative counters grow with time. */
export function remoteCounters(world: World, node: SimNode): Record<string, number> {
  const random = refreshed(world, node, 'remoted')
  const up = Math.max(0, Math.floor((world.now().getTime() - node.startedAt.getTime()) / 1000 / REFRESH))
  return {
    queue_size: random.chance(0.2) ? random.int(1, 900) : 0,
    total_queue_size: 131072,
    tcp_sessions: 0,
    evt_count: 120 + up * 11,
    ctrl_msg_count: 14 + up * 3,
    discarded_count: 0,
    msg_sent: 14 + up * 3,
    recv_bytes: 82_944 + up * 5_301,
    dequeued_after_close: 0,
  }
}

function refreshed(world: World, node: SimNode, daemon: string): Random {
  return randomFor(world.seed, daemon, node.name, Math.floor(world.now().getTime() / 1000 / REFRESH))
}
