/** The commands of `dogear`, their arguments and their flags. */
import type * as Actions from '../actions.js'

/** A flag or an argument. `text` may have Markdown links, which only the guide shows. */
export interface Word {
  readonly syntax: string
  readonly text: string
  readonly repeats?: true
}

/** `endsProcess`: the command ends its process, which a module of the user may keep alive. */
export interface Command {
  readonly name: keyof typeof Actions | 'conformance'
  readonly alias?: string
  readonly args: ReadonlyArray<Word>
  readonly summary: string
  readonly text: string
  readonly flags: ReadonlyArray<Word>
  readonly example: string
  readonly endsProcess?: true
}

/** A flag whose syntax ends with `...` can be given several times. */
const word = (given: string, about: string): Word => {
  const syntax = given.replace(/\.{3}$/, '')
  return given === syntax ? { syntax, text: about } : { syntax, text: `${about}; repeat for more`, repeats: true }
}

/** Words by their syntax. */
const words = (texts: Readonly<Record<string, string>>): ReadonlyArray<Word> =>
  Object.entries(texts).map(([syntax, text]) => word(syntax, text))

/** The flags of `dogear` itself. */
export const HOME = word(
  '--home <folder>',
  'the state folder: workspaces, and runs without --store (default: DOGEAR_HOME, else .dogear)'
)
export const STORE = word(
  '--store <store>',
  '[where runs are kept](#where-runs-are-kept): a folder, sqlite:FILE or postgres://HOST/DATABASE (default: DOGEAR_STORE, else the state folder)'
)
export const VERSION = word('-V, --version', 'print the version')
export const HELP = word('-h, --help', 'print help')
export const GLOBAL: ReadonlyArray<Word> = [HOME, STORE, VERSION, HELP]

const ID = 'the id of the run, or its first 4 or more characters'
const RUN = word('<id>', ID)
const ANY_RUN = word('[id]', ID)

const JSON_FLAG = word('--json', 'print the result as JSON; all other output goes to standard error')
const EVENTS = word(
  '--events',
  'print [each change as a line of JSON](#events-as-json-lines) once it is durable, and the result as the last line; all other output goes to standard error'
)
const YES = word('-y, --yes', 'answer yes to every yes-or-no question')
const VERBOSE = word('-v, --verbose', 'print more')

/** What `run` and `resume` have in common. */
const RUNNING: ReadonlyArray<Word> = [
  ...words({
    '--merge':
      'after the run completes, [merge its worktree](workspaces.md#the-merge) and remove it; not with --no-merge',
    '--no-merge': 'keep the worktree, without a question'
  }),
  YES,
  VERBOSE,
  JSON_FLAG,
  EVENTS
]

const CONFIRM = word(
  '--confirm <step=answer>...',
  'answer a [question](#questions) about a step: again, keep, done or done:OUTPUT'
)

const PLANNING: ReadonlyArray<Word> = [
  ...words({
    '--force': 'run every step again, from the first; asks before it runs completed ones again',
    '--from-step <step>': 'count all earlier steps as done, and run from this one on',
    '--restart-wave <wave>': 'run this wave, map or sequence again, and every later step',
    '--input <name=value>...': 'with --from-step or --force, [replace an input value](#from-a-step-on) from there on'
  }),
  CONFIRM,
  ...words({
    '--changes <policy>':
      '[which edits](editing-and-resuming.md#edit-then-resume) to accept: strict (none), completed (the default: most edits, but none of a completed step and no new step before one) or ignore (all but a new workflow name, a new kind of a completed step, and code in place of a pending job)',
    '--reopen': 'resume although the run was [cancelled](#cancelling)'
  })
]

/** All commands, in the order in which help lists them. */
export const COMMANDS: ReadonlyArray<Command> = [
  {
    name: 'run',
    args: [word('<file>', 'the workflow file')],
    summary: 'run a workflow file',
    text: 'Runs a workflow file. If an earlier run of it is unfinished, [offers to resume that](#the-offer). With --from-step or --restart-wave it [resumes an earlier run](#from-a-step-on) from there.',
    flags: [
      ...words({
        '--id <id>': 'the id of the new run (default: a UUID)',
        '--input <name=value>...': 'set a variable, overriding the input in the file',
        '--resume':
          'resume an unfinished earlier run, if there is one, without a question; with --id, only the run of that id',
        '--from-step <step>': 'resume [an earlier run](#from-a-step-on) from this step on',
        '--restart-wave <wave>': 'resume [an earlier run](#from-a-step-on), and run this wave again',
        '--run <id>':
          'with --from-step or --restart-wave, the run (default: the newest, preferably with this --input, then of this file)'
      }),
      ...RUNNING
    ],
    example: 'dogear run release.yml --input channel=beta'
  },
  {
    name: 'resume',
    args: [ANY_RUN],
    summary: 'resume a run',
    text: 'Resumes a run: skips completed steps and runs the others. Without an id, resumes the run that [paused last](#pausing), else the only unfinished one. If there are several, exits with 2. If there is none, exits with 0 if a run is completed and none is in progress, else with 3.',
    flags: [
      ...PLANNING,
      ...words({
        '--plan <hash>': 'resume only if the plan is still the one that "dogear plan" showed',
        '--take-over':
          'take the run over from a process that [may be dead](interruption.md#taking-a-run-over); asks first, and refuses if the process is alive'
      }),
      ...RUNNING
    ],
    example: 'dogear resume 3f2a81c0 --from-step build'
  },
  {
    name: 'plan',
    args: [ANY_RUN],
    summary: 'show what resume would do, and why',
    text: 'Shows what "dogear resume" would do, and why. Runs and writes nothing. [Long lists](#the-offer) are shortened.',
    flags: [...PLANNING, JSON_FLAG],
    example: 'dogear plan 3f2a81c0 --force'
  },
  {
    name: 'poll',
    args: [ANY_RUN],
    summary: 'poll the jobs that a run waits for',
    text: 'Polls the [jobs](#jobs) that a run waits for, and records their results; without an id, of the only run that waits for a job. Submits no job and runs no step. Exits with 75 while a job is unfinished, with 1 if one failed, and with 0 if none is pending any more.',
    flags: [JSON_FLAG],
    example: 'dogear poll 3f2a81c0'
  },
  {
    name: 'pause',
    args: [RUN],
    summary: 'pause a run at the next safe point',
    text: 'Asks the owner of a run to pause it [at the next safe point](#pausing): its current steps end, and no other starts. Exits with 0 if the owner was asked or the run is paused, and with 4 if the run has no owner and does not wait.',
    flags: [word('--no-commit', 'leave uncommitted changes in the worktree of the run as they are'), JSON_FLAG],
    example: 'dogear pause 3f2a81c0'
  },
  {
    name: 'cancel',
    args: [RUN],
    summary: 'cancel a run at the next safe point',
    text: 'Cancels a run [at the next safe point](#cancelling): its current steps end, no other starts, and a resume without --reopen is refused. Submitted jobs are not cancelled. Exits with 0 if the run is cancelled or its owner was asked, and with 4 if it has completed.',
    flags: [JSON_FLAG],
    example: 'dogear cancel 3f2a81c0'
  },
  {
    name: 'answer',
    args: [
      RUN,
      ...words({
        '<unit>': 'the path of the unit',
        '[answer]': 'again, keep or done, to a question of a resume'
      })
    ],
    summary: 'answer a unit that waits (--value), or a question of a resume',
    text: 'With --value, answers a unit that [waits for an answer](waiting.md), or that will. With again, keep or done, answers a [question that a resume would ask](editing-and-resuming.md#questions) about a unit, even if a program started the run; --confirm answers further questions. The answer is recorded, and checked by the program when it resumes the run. Exits with 4 if the unit has an answer already or takes none.',
    flags: [
      ...words({
        '--value <json>': 'the answer, as JSON',
        '--value-file <file>': 'the file that holds the answer, as JSON',
        '--output <json>': 'with done: the output of the unit, as JSON'
      }),
      CONFIRM,
      JSON_FLAG
    ],
    example: 'dogear answer 3f2a81c0 approve --value \'"yes"\''
  },
  {
    name: 'fork',
    args: [RUN],
    summary: 'make a new run from the records of another one',
    text: 'Makes a [new run with the records of another one](#a-fork) and does not run it: a resume starts it at the step of --from-step. The other run stays as it is. Exits with 4 if that run has a workspace of its own.',
    flags: [
      ...words({
        '--from-step <step>': 'the step where the new run starts; all earlier ones count as done',
        '--id <id>': 'the id of the new run (default: a UUID)',
        '--input <name=value>...': 'replace an input value in the new run'
      }),
      CONFIRM,
      JSON_FLAG
    ],
    example: 'dogear fork 3f2a81c0 --from-step build'
  },
  {
    name: 'runs',
    args: [],
    alias: 'list',
    summary: 'list runs',
    text: 'Lists runs, newest first. Reads the summaries that the store keeps, so it may miss damage: "dogear verify" finds it. "dogear list" and "dogear list runs" do the same.',
    flags: [
      ...words({
        '--status <status>...':
          'list only these: queued, running, completed, failed, interrupted, paused, pending, cancelled or moved',
        '--output <form>': 'table or json (default: table)'
      }),
      JSON_FLAG
    ],
    example: 'dogear runs --status failed'
  },
  {
    name: 'show',
    args: [RUN],
    summary: 'show one run: its steps, errors and variables',
    text: 'Shows one run: its state, [steps and groups](#the-offer), attempts, errors, variables and [artifacts](artifacts.md).',
    flags: [
      ...words({
        '--history': 'also list each revision with its change, unit, attempt and error',
        '--html <file>': '[write a page](#a-page-to-look-at) with a timeline of the run; replaces an earlier page',
        '--mermaid': 'print the units and their states as a [Mermaid flowchart](#a-page-to-look-at), and nothing else'
      }),
      JSON_FLAG
    ],
    example: 'dogear show 3f2a81c0 --history'
  },
  {
    name: 'watch',
    args: [RUN],
    summary: 'follow a run until it ends, pauses or waits',
    text: '[Follows a run](#watching-a-run), also of another process, until no process works on it. Ctrl+C ends the watch and leaves the run alone. Exits with 0 if the run completed or was deleted, 1 if it failed, was interrupted or has not begun, 4 if it was cancelled or moved, and 75 if it waits or is paused.',
    flags: [JSON_FLAG],
    example: 'dogear watch 3f2a81c0'
  },
  {
    name: 'clean',
    args: [ANY_RUN],
    summary: 'delete the workspaces of runs, never their state',
    text: 'Deletes the [workspace](workspaces.md#cleaning-up) of a run; without an id, those of all completed runs. Never deletes state, nor anything of a run that a live process holds. Reports what a resume would miss, and asks first.',
    flags: [word('--all', 'also delete workspaces of unfinished runs, whose files a resume needs'), YES, JSON_FLAG],
    example: 'dogear clean 3f2a81c0'
  },
  {
    name: 'verify',
    args: [ANY_RUN],
    summary: 'check the stored state, and predict a resume',
    text: 'Checks that the newest stored state is intact, names earlier revisions that the history lacks, and lists [everything that a resume would meet](#before-a-resume): obstacles, questions, steps that run again, and steps that were in flight when their process ended. Without an id, checks the state of all runs, and predicts the resumes of unfinished ones.',
    flags: [JSON_FLAG],
    example: 'dogear verify'
  },
  {
    name: 'prune',
    args: [],
    summary: 'delete the state of completed and cancelled runs',
    text: 'Deletes the state of [completed and cancelled runs](retention.md#pruning) that --keep and --older-than (at least one of them) do not protect, and what is left of runs that never started. Asks before it deletes runs; in a pipe needs --yes. Exits with 5 if one is damaged but readable, or cannot be deleted.',
    flags: [
      ...words({
        '--keep <n>': "keep each workflow's n runs that changed last",
        '--older-than <duration>': 'keep runs that last changed within this time: 12h, 30d',
        '--status <status>...':
          'delete only these, in place of completed and cancelled ones: completed, cancelled, failed, interrupted, paused, pending or queued',
        '--dry-run': 'list the runs, and delete none'
      }),
      YES,
      JSON_FLAG
    ],
    example: 'dogear prune --keep 10 --older-than 30d --dry-run'
  },
  {
    name: 'move',
    args: [RUN],
    summary: 'move a run to another store',
    text: 'Moves a run with its artifacts [to another store](#moving-a-run). If it breaks off, repeat it. Exits with 4 if a process holds the run, or the other store has a run with this id.',
    flags: [word('--to <store>', 'the other store, as for --store'), JSON_FLAG],
    example: 'dogear move 3f2a81c0 --to sqlite:state.db'
  },
  {
    name: 'schema',
    args: [],
    summary: 'print the JSON Schema of workflow files',
    text: 'Prints the JSON Schema of workflow files, with which [editors](#workflow-files) complete and check them.',
    flags: [],
    example: 'dogear schema > workflow.schema.json'
  },
  {
    name: 'conformance',
    args: [
      word('[module]', 'the module that exports the spec of the store: .mjs or .js, or .ts with Node 22.18 and later')
    ],
    summary: 'test a checkpoint store of your own',
    text: 'Tests a [store of your own](testing.md) against the laws of every checkpoint store, and reports each case as it ends. Exits with 0 if the store conforms, and with 1 if a case failed.',
    flags: [
      ...words({
        '--export <name>':
          'the export that is the spec, or a function that returns it; if a module has several specs, run each by its name (default: spec)',
        '--level <level>...': 'run only these cases: core, capability or stress',
        '--only <id>...': 'run only this case (CS-FENCE-03) or [family of cases](testing.md#the-cases) (CS-FENCE)',
        '--limit <duration>': 'the time limit of a case; a stress case has four times as long (default: 30s)',
        '--list': 'list the cases, and run none; needs no module',
        '--tap': 'print the report as TAP 14, at the end'
      }),
      JSON_FLAG
    ],
    example: 'dogear conformance spec.mjs --level core',
    endsProcess: true
  }
]

export const commandNamed = (word: string | undefined): Command | undefined =>
  COMMANDS.find(({ name, alias }) => word !== undefined && [name, alias].includes(word))

/** The names of a flag, a short one first. */
export const namesOf = ({ syntax }: Word): ReadonlyArray<string> => syntax.replace(/ <.*/, '').split(', ')

/** Strips Markdown links, for a terminal. */
export const plain = (text: string): string => text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
