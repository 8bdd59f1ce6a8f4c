/** Buttons that save the rows of a table as a file, as CSV or JSON. */
import { useState } from 'preact/hooks'
import './export-buttons.css'
import { type ExportFormat, type ExportRow, exportFileName, formatRows } from './export.ts'

export interface TableExport {
  /** The table in the name of the file, such as `nodes`. */
  readonly name: string
  /** Returns the rows to export, which may be more than the table shows. `onProgress`: a short text. */
  rows(onProgress: (text: string) => void): readonly ExportRow[] | Promise<readonly ExportRow[]>
}

interface ExportButtonsProps {
  /** The title of the table, for screen readers. */
  readonly label: string
  readonly source: TableExport
}

const REVOKE_DELAY_MS = 60_000
const FORMATS: readonly ExportFormat[] = ['csv', 'json']
const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv;charset=utf-8;header=present',
  json: 'application/json',
}

export function ExportButtons({ label, source }: ExportButtonsProps) {
  const [progress, setProgress] = useState<string | undefined>(undefined)
  const [error, setError] = useState<string | undefined>(undefined)
  const save = async (format: ExportFormat): Promise<void> => {
    setError(undefined)
    setProgress('Exporting …')
    try {
      saveFile(
        exportFileName(source.name, format, Date.now()),
        formatRows(await source.rows(setProgress), format),
        format,
      )
    } catch (fault) {
      setError(`Not exported: ${(fault as Error).message}`)
    }
    setProgress(undefined)
  }
  return (
    <div class="export">
      <span class="quiet" role="status">
        {error ?? progress}
      </span>
      {FORMATS.map((format) => (
        <button
          key={format}
          type="button"
          class="plain small"
          disabled={progress !== undefined}
          aria-label={`Export ${label} as ${format.toUpperCase()}`}
          title={`Export as ${format.toUpperCase()}`}
          onClick={() => void save(format)}
        >
          ↓ {format.toUpperCase()}
        </button>
      ))}
    </div>
  )
}

function saveFile(name: string, text: string, format: ExportFormat): void {
  const url = URL.createObjectURL(new Blob([text], { type: MEDIA_TYPES[format] }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_DELAY_MS)
}
