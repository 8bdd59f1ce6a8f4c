/** Console API of single requests. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { EdgeError } from '../../core/errors.ts'
import type { ConsolePorts } from './ports.ts'
import { requestDetailsOf } from './request-details.ts'
import type { RequestDetails } from './request-types.ts'

const UUID = '^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
const params = Type.Object({ id: Type.String({ pattern: UUID }) })

export function registerRequestRoutes(
  app: FastifyInstance,
  ports: Pick<ConsolePorts, 'records' | 'findElsewhere'>,
): void {
  const { records, findElsewhere } = ports
  app.get<{ Params: { id: string } }>(
    '/api/requests/:id',
    { schema: { params } },
    async ({ params: { id } }): Promise<RequestDetails> => {
      const found = records.find(id.toLowerCase())
      if (found !== undefined) return requestDetailsOf(found)
      const details = await findElsewhere?.(id.toLowerCase())
      if (details === undefined) {
        throw new EdgeError(603, '. This replica has no record of the request. Records are kept for 10 minutes')
      }
      return details
    },
  )
}
