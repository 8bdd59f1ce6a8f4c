/** Statistics of a node. */
import { analysisCounters, hourly, hoursOf, remoteCounters, weekly } from '../data/node/statistics.ts'
import { FrameworkError, type SimHandlers, type SimRequest } from '../model.ts'
import { refusal } from '../texts.ts'

/**
 * Returns the statistics of the given day or of today; throws 1307 for an invalid date and 1308 if there is no file.
 */
function ofDay({ world, node, query }: SimRequest): unknown[] {
  const hours = hoursOf(world, node, query.date === undefined ? world.now() : readDay(query.date))
  if (hours === undefined) throw new FrameworkError(1308, 'Stats file has not been created yet')
  return hours
}

function readDay(text: string): Date {
  const [year, month, day] = [text.slice(0, 4), text.slice(4, 6), text.slice(6, 8)].map(Number)
  const date = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day))
  // February 31 becomes a day in March.
  if (date.getUTCMonth() + 1 !== month || date.getUTCDate() !== day) throw refusal(1307)
  return date
}

export const statsHandlers: SimHandlers = {
  'GET /manager/stats': ofDay,
  'GET /manager/stats/hourly': ({ world, node }) => hourly(world, node),
  'GET /manager/stats/weekly': ({ world, node }) => weekly(world, node),
  'GET /manager/stats/analysisd': ({ world, node }) => analysisCounters(world, node),
  'GET /manager/stats/remoted': ({ world, node }) => remoteCounters(world, node),
}
