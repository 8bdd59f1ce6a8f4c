/** The operators' console: its API under `/api`, its page under `/console/`. */
import type { ConsolePorts } from '../console-ports.ts'
import type { OperationsPart } from '../index.ts'
import { cacheApi } from './cache-api.ts'
import { liveApi } from './live-api.ts'
import { consolePage } from './page.ts'

/** `folder`: of the built page; absent: there is none. */
export function consolePart(ports: ConsolePorts, folder: string | undefined): OperationsPart {
  return async (app) => {
    liveApi(app, ports)
    cacheApi(app, ports)
    await consolePage(app, folder)
  }
}
