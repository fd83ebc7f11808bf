//! The configurations in which an operator takes the shoot back.

use crate::config::Config;
use crate::configs::NOTHING;
use crate::state::{ARMED, Budget, Class, EXISTS, Guard, Id, MARKED, MIGRATED, Machine, Template};

use Id::{Absent, Empty, Legacy};

/// A shoot whose first Machine is rewritten, and not labelled yet, at the start.
fn rewritten(mut config: Config) -> Config {
    let seed = &mut config.start.seeds[0];
    (seed.template, seed.guard, seed.policies_see) = (Template::Stackit, Guard::Closed, true);
    seed.migration = EXISTS | ARMED;
    seed.classes[0] = Class::Stackit;
    seed.machines[0] = Machine { id: Id::Rewritten, flags: MIGRATED | MARKED };
    Config { back_is_asked: true, ..config }
}

/// An operator takes the shoot back, and it may go forward again.
#[must_use]
pub fn rollback() -> Config {
    let budget = Budget { rollbacks: 1, template_back: 1, class_back: 1, kills: 1, ..NOTHING };
    let about = "one Machine, rewritten and not labelled yet; an operator takes the shoot back and is interrupted once; it may go forward again";
    rewritten(Config::one_seed("rollback", about, [Legacy, Absent, Absent], [0, 0, 0], budget))
}

/// The same with a Node that freezes.
#[must_use]
pub fn rollback_freeze() -> Config {
    let budget = Budget { rollbacks: 1, template_back: 1, freezes: 1, ..NOTHING };
    let about = "one Machine, rewritten and not labelled yet; an operator takes the shoot back while a Node freezes; it may go forward again";
    rewritten(Config::one_seed("rollback-freeze", about, [Legacy, Absent, Absent], [0, 0, 0], budget))
}

/// An operator takes the shoot back and leaves the command where it was killed; a Machine is made, and it goes forward again.
#[must_use]
pub fn rollback_left() -> Config {
    let budget = Budget { rollbacks: 1, template_back: 1, class_back: 1, kills: 1, creates: 1, ..NOTHING };
    let about = "one Machine, rewritten and not labelled yet; an operator takes the shoot back, the command is killed and not begun again; a Machine is made; it may go forward again";
    let config = rewritten(Config::one_seed("rollback-left", about, [Legacy, Absent, Absent], [0, 0, 0], budget));
    let may_wait_for = &["paused", "rolling-back", "stackit-machines-remain"];
    Config { is_left: true, made_on_openstack: true, may_wait_for, ..config }
}

/// The same, and another Machine is made meanwhile.
#[must_use]
pub fn rollback_freeze_and_made() -> Config {
    let budget = Budget { rollbacks: 1, template_back: 1, class_back: 1, freezes: 1, creates: 1, ..NOTHING };
    let about = "one Machine, rewritten and not labelled yet; an operator takes the shoot back for good while a Node freezes and a Machine is made";
    let config =
        rewritten(Config::one_seed("rollback-freeze-and-made", about, [Legacy, Absent, Absent], [0, 0, 0], budget));
    Config { stays_back: true, made_on_openstack: true, may_wait_for: &["stackit-machines-remain"], ..config }
}

/// An operator takes the shoot back while a roll-out is under way, and it may go forward again.
#[must_use]
pub fn rollback_roll_out() -> Config {
    let budget = Budget { rollbacks: 1, template_back: 1, class_back: 1, roll_outs: 1, deletes: 1, ..NOTHING };
    let about = "one Machine, rewritten and not labelled yet; an operator takes the shoot back while a roll-out is under way; it may go forward again";
    let config = rewritten(Config::one_seed("rollback-roll-out", about, [Legacy, Absent, Absent], [0, 1, 1], budget));
    Config { may_wait_for: &["roll-out-unfinished", "class-left-stackit", "labels-unconfirmed"], ..config }
}

/// An operator takes the shoot back while STACKIT makes a Machine, and it may go forward again.
#[must_use]
pub fn rollback_in_flight() -> Config {
    let budget = Budget { rollbacks: 1, template_back: 1, class_back: 1, deletes: 1, ..NOTHING };
    let about = "one Machine, rewritten and not labelled yet, and one that STACKIT makes; an operator takes the shoot back; it may go forward again";
    let config = rewritten(Config::one_seed("rollback-in-flight", about, [Legacy, Empty, Absent], [0, 0, 0], budget));
    Config { may_wait_for: &["stackit-machines-remain"], ..config }
}

/// An operator takes the shoot back, does the last steps by hand, and Gardener turns it forward again.
#[must_use]
pub fn by_hand() -> Config {
    let budget = Budget { rollbacks: 1, template_back: 1, class_back: 1, meddling: 1, ..NOTHING };
    let about = "one Machine, rewritten and not labelled yet; an operator takes the shoot back and does the last steps by hand; it may go forward again";
    let config = rewritten(Config::one_seed("by-hand", about, [Legacy, Absent, Absent], [0, 0, 0], budget));
    Config { by_hand: true, ..config }
}

/// The same, and Gardener leaves it there.
#[must_use]
pub fn by_hand_and_stays() -> Config {
    let about = "one Machine, rewritten and not labelled yet; an operator takes the shoot back for good and does the last steps by hand";
    Config { name: "by-hand-and-stays", about, stays_back: true, ..by_hand() }
}
