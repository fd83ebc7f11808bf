mod flags;

use super::Exit;

pub(super) use flags::ServeFlags;

pub(super) fn run(flags: ServeFlags) -> Exit {
    drop(flags);
    super::fail(Exit::Failed, &"not there yet")
}
