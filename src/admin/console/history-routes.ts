/** The history of the console API. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ConsoleHistory } from './history.ts'
import { type History, RANGES, type Range } from './history-types.ts'

const historyQuery = Type.Object(
  {
    range: Type.Optional(Type.Union(RANGES.map((range) => Type.Literal(range)))),
    replica: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  },
  { additionalProperties: false },
)

/** `GET /api/history?range=1h&replica=name`. Without `replica`: the sum of all replicas. */
export function registerHistoryRoute(app: FastifyInstance, history: Pick<ConsoleHistory, 'read'>): void {
  const schema = { querystring: historyQuery }
  app.get<{ Querystring: { range?: Range; replica?: string } }>(
    '/api/history',
    { schema },
    ({ query: { range = '1h', replica } }): Promise<History> => history.read(range, replica),
  )
}
