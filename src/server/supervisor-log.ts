/** The log of the supervisor, with the settings that the processes use. */
import { type Logger, pino } from 'pino'
import type { Config } from '../config/schema.ts'
import { createProcessLog } from './logs.ts'

export class SupervisorLog {
  #settings: Config['log']
  #current: Logger

  constructor(settings: Config['log']) {
    this.#settings = settings
    this.#current = createLog(settings)
  }

  get current(): Logger {
    return this.#current
  }

  /** Takes settings that a process has reloaded or started with. */
  use(settings: Config['log']): void {
    if (settings.format !== this.#settings.format) this.#current = createLog(settings)
    this.#current.level = settings.level
    this.#settings = settings
  }
}

function createLog({ level, format }: Config['log']): Logger {
  return pino({ level, base: null }, createProcessLog(format))
}
