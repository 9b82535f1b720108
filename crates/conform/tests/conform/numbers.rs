//! One test a check, named by its number.

use evenkeel_conform::{Check, Clock, Log, all, simulate};

/// `b_3_1_16` is the test of `B.3.1-16`.
fn id(name: &str) -> String {
    let (section, number) = name.rsplit_once('_').unwrap();
    let mut section = section.replace('_', ".");
    section[..1].make_ascii_uppercase();
    format!("{section}-{number}")
}

fn find(name: &str) -> &'static Check {
    let id = id(name);
    let check = all().into_iter().find(|check| check.id == id);
    check.unwrap_or_else(|| panic!("there is no check {id}"))
}

fn assert_passes(check: &Check) {
    for rfc in check.rfc {
        let logs: Vec<_> = check.runs.iter().map(|run| simulate(run, *rfc)).collect();
        let outcome = check.judge(&logs, Clock::Virtual, *rfc);
        assert!(
            outcome.pass,
            "{} ({}) by RFC {}: {:?}, expected {:?}",
            check.id,
            check.title,
            rfc.number(),
            outcome.value,
            outcome.expected,
        );
    }
}

macro_rules! checks {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                assert_passes(find(stringify!($name)));
            }
        )*

        #[test]
        fn every_check_has_its_test() {
            let tested = [$(id(stringify!($name))),*];
            let listed: Vec<_> = all().iter().map(|check| check.id).collect();
            assert_eq!(tested.as_slice(), listed.as_slice());
        }
    };
}

checks! {
    b_2_1_1 b_2_1_2 b_2_1_3 b_2_1_4 b_2_1_5 b_2_1_6 b_2_1_7
    b_2_2_8 b_2_2_9 b_2_2_10 b_2_2_11 b_2_2_12 b_2_2_13
    b_3_1_14 b_3_1_15 b_3_1_16 b_3_1_17 b_3_1_18 b_3_1_19 b_3_1_20
    b_3_2_21 b_3_2_22 b_3_2_23 b_3_2_24 b_3_2_25 b_3_2_26
    b_3_3_27 b_3_3_28 b_3_3_29 b_3_3_30 b_3_3_31
    b_3_4_32
    b_3_5_33 b_3_5_34 b_3_5_35
    b_3_6_36 b_3_6_37 b_3_6_38 b_3_6_39
    b_4_1_40 b_4_1_41 b_4_1_42 b_4_1_43 b_4_1_44 b_4_1_45
    b_4_2_46 b_4_2_47 b_4_2_48 b_4_2_49 b_4_2_50 b_4_2_51 b_4_2_52
    b_4_2_53 b_4_2_54 b_4_2_55 b_4_2_56 b_4_2_57

    e_5_1_1 e_5_1_2 e_5_2_3 e_5_1_4 e_5_1_5 e_5_2_6 e_5_2_7 e_5_2_8 e_5_1_9 e_5_1_10 e_5_1_11
    e_5_2_12 e_5_2_13 e_5_2_14 e_5_2_15 e_5_2_16
    e_5_3_17 e_5_3_18 e_6_19 e_5_1_20 e_6_1_21 e_6_22
    e_5_4_23 e_5_4_24 e_5_4_25 e_5_4_26 e_5_5_27 e_5_5_28 e_5_5_29 e_5_5_30
    e_6_2_31 e_6_32 e_6_33 e_6_2_34 e_6_3_35 e_6_1_36 e_6_2_37 e_6_2_38 e_6_2_39 e_6_2_40
    e_6_3_1_41 e_6_3_1_42 e_6_3_1_43 e_6_3_1_44 e_3_2_1_45 e_5_2_46 e_3_2_2_47
    e_3_1_48 e_3_1_49 e_3_1_50 e_4_1_51 e_4_2_52 e_4_2_53 e_4_2_54 e_4_2_55
    e_4_3_56 e_4_3_57 e_4_3_58 e_4_3_59 e_4_3_60 e_4_3_61 e_4_3_62 e_4_3_63 e_4_3_64 e_4_3_65
    e_4_3_66 e_4_3_67 e_4_3_68 e_8_2_1_69
    e_4_4_70 e_4_4_71 e_4_4_72 e_4_4_73 e_4_4_74 e_4_4_75 e_4_4_76 e_4_4_77 e_4_4_78 e_4_3_79
    e_4_5_80 e_4_6_81 e_4_6_82 e_4_6_83
    e_6_3_84 e_6_3_85 e_3_2_1_86

    s_ccfb_1 s_ccfb_2 s_ccfb_3 s_ccfb_4 s_ccfb_5 s_ccfb_6 s_ccfb_7 s_ccfb_8 s_ccfb_9 s_ccfb_10 s_ccfb_11 s_ccfb_12 s_ccfb_13 s_ccfb_14 s_ccfb_15 s_ccfb_16
    s_twcc_1 s_twcc_2 s_twcc_3 s_twcc_4 s_twcc_5 s_twcc_6 s_twcc_7 s_twcc_8 s_twcc_9 s_twcc_10 s_twcc_11 s_twcc_12 s_twcc_13 s_twcc_14
    s_sack_1 s_sack_2 s_sack_3 s_sack_4 s_sack_5 s_sack_6 s_sack_7 s_sack_8 s_sack_9 s_sack_10 s_sack_11 s_sack_12 s_sack_13
}

/// The numbers of a list, each with its section.
fn numbers(checks: &[&Check], prefix: &str) -> Vec<u32> {
    let numbers = checks.iter().map(|check| {
        let (section, number) = check.id.rsplit_once('-').unwrap();
        assert!(section.starts_with(prefix), "{}", check.id);
        number.parse().unwrap()
    });
    numbers.collect()
}

#[test]
fn appendix_b_has_57_checks_numbered_through() {
    let checks = evenkeel_conform::appendix_b::checks();
    assert_eq!(numbers(&checks, "B."), (1..=57).collect::<Vec<u32>>());
}

#[test]
fn the_second_list_is_numbered_through_and_quotes_its_sections() {
    let checks = evenkeel_conform::extended::checks();
    let count = checks.len() as u32;
    assert_eq!(numbers(&checks, "E."), (1..=count).collect::<Vec<u32>>());
    for check in checks {
        let (section, _) = check.id["E.".len()..].rsplit_once('-').unwrap();
        let quoted = format!("RFC 5348 §{section}");
        let rest = check.section.strip_prefix(&quoted);
        assert!(
            rest.is_some_and(|rest| !rest.starts_with('.')),
            "{}",
            check.id
        );
    }
}

#[test]
fn the_list_of_each_format_is_numbered_through() {
    for (format, count) in [("ccfb", 16), ("twcc", 14), ("sack", 13)] {
        let section = format!("S.{format}");
        let checks = evenkeel_conform::sender_based::checks();
        let of_format = checks.iter().filter(|check| check.id.starts_with(&section));
        let of_format: Vec<_> = of_format.copied().collect();
        assert_eq!(
            numbers(&of_format, &section),
            (1..=count).collect::<Vec<u32>>()
        );
    }
}

#[test]
fn a_run_without_a_packet_passes_no_check() {
    for check in all() {
        for rfc in check.rfc {
            let logs: Vec<_> = check.runs.iter().map(|_| Log::default()).collect();
            let passes =
                [Clock::Virtual, Clock::Real].map(|clock| check.judge(&logs, clock, *rfc).pass);
            assert_eq!(passes, [false; 2], "{} ({})", check.id, check.title);
        }
    }
}

#[test]
fn runs_that_share_a_name_are_one_run() {
    let mut runs: Vec<_> = all().iter().flat_map(|check| check.runs).copied().collect();
    runs.sort_by_key(|run| run.name);
    for pair in runs.windows(2) {
        assert!(pair[0].name != pair[1].name || std::ptr::eq(pair[0], pair[1]));
    }
}
